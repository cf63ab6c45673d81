"""The console's room of integrity and the exported table: evidence without conditions and outcomes, and decisions."""

from __future__ import annotations

import csv
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from storage.datasets.tidy.columns import NAME, file_of
from storage.db.engine import open_database
from tests.core.test_integrity import OTHER, STORY
from tests.fakes import studies
from tests.fakes.commanding import parley
from tests.fakes.console import console
from tests.fakes.databases import export
from tests.fakes.researcher import Researcher, value, visible
from tests.fakes.served import settings_for
from tests.wiring.test_integrity import STUDY, integrity, played

TELLING = ("with_ai_arm", "without_ai_arm", "secret_arm", "4711", "apples", "tab=sessions")
"""The condition, an answer, a question, and links to a transcript."""


async def painted(researcher: Researcher, **place: str) -> Mapping[str, Any]:
    """The room once its evidence is there."""
    give_up_s = time.monotonic() + 60
    shown = await researcher.open(study="essays", tab="integrity", **place)
    while "<table" not in value(shown["integrity-list"]) + value(shown["integrity-rates"]):
        assert time.monotonic() < give_up_s
        await anyio.sleep(0.05)
        shown = await researcher.open(study="essays", tab="integrity", **place)
    return shown


@pytest.mark.anyio
async def test_exclusions_are_decided_from_evidence_alone_and_recorded(tmp_path: Path) -> None:
    studies.write(tmp_path, STUDY)
    await anyio.to_thread.run_sync(played, tmp_path, [STORY, OTHER, STORY])
    database = open_database(settings_for(tmp_path).database_url)
    here: dict[str, Any] = {"study": "essays", "integrity-origin": "person", "integrity-every": False}
    async with console(tmp_path, database) as (room, researcher):
        shown = await painted(researcher)
        listed = value(shown["integrity-list"])
        assert ('data-session="1"' in listed, 'data-session="3"' in listed) == (True, True)
        every = await researcher.on("integrity-every", "input", **here | {"integrity-every": True})
        assert 'data-session="2"' in value(every["integrity-list"])

        opened = await researcher.on("integrity-list", "click", **here, **{"integrity-chosen": "3"})
        assert "No. 1" in value(opened["integrity-head"])
        assert value(opened["integrity-why"]).startswith("integrity: ")
        assert "duplicate 100 %" in value(opened["integrity-why"])
        for part in (value(shown["integrity-rates"]), listed, value(opened["integrity-head"])):
            assert not any(word in part for word in (*TELLING, STORY[:30]))

        said = here | {"integrity-chosen": "3"}
        refused = await researcher.on("integrity-exclude", "click", **said, **{"integrity-why": "integrity: "})
        assert "give the reason" in value(refused["note"])
        done = await researcher.on("integrity-exclude", "click", **said, **{"integrity-why": "copy of 1"})
        assert 'class="excluded"' in value(done["integrity-list"])
        assert (visible(done["integrity-exclude"]), visible(done["integrity-include"])) == (False, True)
        again = await researcher.on("integrity-include", "click", **said, **{"integrity-why": "a mistake"})
        assert visible(again["integrity-exclude"])
        assert room.did == [
            ("Ada", "excluded a session on evidence of integrity", "essays No. 3"),
            ("Ada", "included a session again on evidence of integrity", "essays No. 3"),
        ]
    database.dispose()


def test_thresholds_of_the_newest_version_count_for_all_sessions(tmp_path: Path) -> None:
    studies.write(tmp_path, STUDY)
    half = f"{STORY} {OTHER}"
    played(tmp_path, [STORY, half])
    assert not any("duplicate" in one["flags"] for one in integrity(tmp_path)["sessions"])
    studies.write(tmp_path, STUDY | {"integrity": {"thresholds": {"duplicate": 0.3}}})
    assert parley("publish", "essays.yaml", folder=tmp_path).returncode == 0
    found = integrity(tmp_path)
    assert [one["flags"].count("duplicate") for one in found["sessions"]] == [1, 1]
    assert {row["indicator"]: row["threshold"] for row in found["indicators"]}["duplicate"] == 0.3

    database = open_database(settings_for(tmp_path).database_url)
    export(database, "essays", NAME, tmp_path / "out")
    parley("session", "exclude", "essays", "1", "--reason", "integrity: copy", folder=tmp_path)
    export(database, "essays", NAME, tmp_path / "rest")
    database.dispose()
    whole, rest = rows(tmp_path / "out"), rows(tmp_path / "rest")
    copies = [row for row in whole if row["indicator"] == "duplicate"]
    assert [(row["threshold"], row["flagged"]) for row in copies] == [("0.3", "1")] * 2
    assert [row["alike"] for row in copies] == [row["session"] for row in reversed(copies)]
    assert {row["indicator"] for row in whole} == {"paste_share", "typing_speed", "writing_speed", "duplicate"}
    left = [row for row in rest if row["indicator"] == "duplicate"]
    assert [(row["session"], row["flagged"]) for row in left] == [(copies[1]["session"], "1")], (
        "copies of those left out"
    )


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / file_of("integrity")).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
