"""Servers over one database: a second one over an SQLite file is refused."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes import studies
from tests.fakes.forked import Forked, command
from tests.fakes.served import Process

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(300)]  # a busy machine starts processes slowly


async def said(folder: Path, *words: str) -> tuple[int | None, str]:
    """What a command says, and how it ends."""
    forked = Forked(command, *words, folder=folder, out=folder / "said.txt", env={"PARLEY_PORT": "0"})
    return await asyncio.to_thread(forked.wait), forked.said()


async def test_a_second_server_over_one_file_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    study = studies.chat(tmp_path)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/other.db").symlink_to(tmp_path / "parley.db")
    first, second = Process(tmp_path, (study,)), Process(tmp_path, (study,))
    await asyncio.to_thread(first.start)
    try:
        for words in (("serve", str(study)), ("demo", "--no-browser")):
            for folder in (tmp_path, tmp_path / "linked"):
                forked = Forked(
                    command,
                    *words,
                    folder=folder,
                    out=tmp_path / "said.txt",
                    env={"PARLEY_PORT": "0", "PARLEY_DATABASE_URL": f"sqlite:///{next(folder.glob('*.db'))}"},
                )
                code = await asyncio.to_thread(forked.wait)
                assert (code, f"process {first.pid} serves" in forked.said()) == (2, True), forked.said()
        code, told = await said(tmp_path, "simulate", str(study), "-n", "1")
        assert (code, "Traceback" in told) == (0, False), told
        first.kill()
        await asyncio.to_thread(second.start)
    finally:
        first.kill()
        second.kill()
