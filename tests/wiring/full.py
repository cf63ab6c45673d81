"""A disk that is full, and what people get of it: a calm page, and soon."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import httpx2
import pytest

from experiments.study.screen import MESSAGE_DRAFT, typed
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import ticket

CALM = (
    "We cannot save your answers at the moment. Everything that was saved before is safe. Please try again in a minute."
)


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[None]:
    """A file system of its own at a folder; only root may make one."""
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(folder)], capture_output=True
    )
    if done.returncode:
        pytest.skip("only root can mount a small file system; the limit of a file's size is tried all the same")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill_disk(folder: Path) -> None:
    with (folder / "ballast").open("wb", buffering=0) as ballast:
        try:
            while ballast.write(b"x" * 4096):
                pass
        except OSError:
            return


def free_disk(folder: Path) -> None:
    (folder / "ballast").unlink()


async def refused(client: httpx2.AsyncClient, soon_s: float) -> list[httpx2.Response]:
    """What somebody gets who comes until nobody can begin: each answer soon, the last one calm."""
    told = []
    give_up = time.monotonic() + 60
    while not told or told[-1].status_code != 503:
        assert time.monotonic() < give_up, "it never was full"
        client.cookies.clear()
        begun = time.monotonic()
        told.append(await client.post("/s/short", data=ticket("short"), headers={"accept": "text/html"}))
        assert time.monotonic() - begun < soon_s
    page = told[-1].text
    assert CALM in page
    assert 'data-page="error"' in page
    assert "full" not in page
    assert "Traceback" not in page
    return told


async def refused_at_work(bot: HttpBot, soon_s: float) -> None:
    """What somebody gets who types meanwhile, until there is no room for it."""
    chance = Random(bot.stream)
    for _ in range(400):  # the file of SQLite's journal may have room, where it was begun anew
        words = chance.randbytes(4_000).hex()  # nothing makes it less
        values = typed(bot.screen, {"comment": words, MESSAGE_DRAFT: words})
        assert values, "this screen has no field for it"
        begun = time.monotonic()
        response = await bot.client.post("/api/draft", json={"path": bot.screen.path, "values": values})
        assert time.monotonic() - begun < soon_s
        if response.status_code != 200:
            break
    assert response.status_code == 503
    assert response.json()["note"].startswith(CALM)
