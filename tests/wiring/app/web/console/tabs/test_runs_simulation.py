"""Simulating in the console: the same sessions as the command's, marked as simulated."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import app
from app.studies.loader import load_study
from storage.db.engine import Database
from storage.log.seats import outcomes
from storage.registers.origins import ORIGINS
from storage.registers.study_versions import publish_on_start
from tests.fakes import studies
from tests.fakes.console import console
from tests.fakes.researcher import value
from tests.fakes.served import SECRET

pytestmark = pytest.mark.anyio


async def test_a_draft_or_study_is_simulated_as_by_the_command(tmp_path: Path, database: Database) -> None:
    file = studies.short(tmp_path)
    publish_on_start(database, load_study(str(file)), at_us=1_000_000)
    async with console(tmp_path, database) as (room, researcher):
        await researcher.open(tab="runs", study="short")
        for count, seed in ((0, "a"), (2.5, "a"), (501, "a")):
            values = {"runs-kind": "simulate", "simulate-count": count, "simulate-seed": seed}
            refused = await researcher.on("runs-show", "click", **values)
            assert 'role="alert"' in value(refused["note"]), values
            assert "1 to 500" in value(refused["note"]), "one limit, as the label says"
        before = list(room.did)
        values = {"runs-kind": "simulate", "simulate-count": 3, "simulate-seed": "a"}
        token = value((await researcher.on("runs-show", "click", **values))["runs-token"])
        said = await researcher.on("runs-start", "click", **{"runs-token": token})
        while "data-running" in value(said["runs-work"]):
            said = await researcher.enter("runs")
        assert "data-ended" in value(said["runs-work"])
        assert [entry[2] for entry in room.did if entry not in before] == ["short"]
    found = {origin: outcomes(database, "short", origin) for origin in ORIGINS}
    assert list(found.pop("bot").values()) == ["complete"] * 3
    assert not any(found.values())
    env = {"PARLEY_DATABASE_URL": str(database.url), "PARLEY_SECRET": SECRET}
    words = ["simulate", str(file), "-n", "3", "--seed", "a"]
    again = await asyncio.to_thread(CliRunner().invoke, app, words, env=env)
    assert again.exit_code == 0, again.output
    assert len(outcomes(database, "short", "bot")) == 3, "the command finds its own sessions"
