"""Integrity in commands, console and exports: evidence of each session, and nothing of conditions and answers."""

from __future__ import annotations

import asyncio
import csv
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from app.studies.loader import load_study
from app.web.participant.view import render_page, study_context_of
from storage.ai_alone.replies import StoredCell, save_cells
from storage.datasets.tidy.columns import NAME
from storage.db.engine import open_database, writer
from storage.log.telemetry import TelemetryBatch, write_telemetry
from tests.core.experiments.views.test_integrity import OTHER, STORY
from tests.fakes import studies
from tests.fakes.commanding import parley
from tests.fakes.console import console
from tests.fakes.databases import export
from tests.fakes.researcher import Researcher, value, visible
from tests.fakes.sampled import sampled, write_sampled
from tests.fakes.served import settings_for
from tests.fakes.sitting import Sitting

STUDY: dict[str, Any] = {
    "study": "essays",
    "title": "Explain it",
    "telemetry": True,
    "problems": {"questions": {"items": [{"id": "q1", "question": "How much are twelve apples?"}]}},
    "factors": {"secret_arm": ["with_ai_arm", "without_ai_arm"]},
    "flow": [
        {"step": "consent", "text": "Do you agree?"},
        {
            "each": "question",
            "of": "questions",
            "flow": [
                {
                    "step": "survey",
                    "id": "explain",
                    "questions": [
                        {"type": "long_text", "name": "why", "text": "How did you go about it?"},
                        {"type": "number", "name": "price", "text": "How much?"},
                    ],
                }
            ],
        },
        {"step": "finish", "code": "DONE"},
    ],
}
PAGE = {"seen": 1, "shown_ms": 60_000, "visible_ms": 60_000, "reading_ms": 5_000, "typing_ms": 40_000, "choices": 0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    studies.write(tmp_path, STUDY)
    return tmp_path


def played(
    folder: Path, texts: list[str], origin: str = "person", pasted: int = 0, filled: frozenset[int] = frozenset()
) -> list[str]:
    """Sessions that write these texts; the page of the last one reports that so many characters were pasted, and those
    of the `filled` sessions that the hidden box was filled in."""

    async def play() -> list[str]:
        async with Sitting(folder, load_study(str(folder / "essays.yaml"))) as essays:
            streams = []
            for number, text in enumerate(texts, 1):
                stream = (await essays.begin("", origin)).live.stream
                streams.append(stream)
                await essays.click(agreed=True)
                path = essays.live.screen.path
                records = [{"kind": "screen", "data": PAGE}]
                if pasted and number == len(texts):
                    records.append({"kind": "pasted", "data": {"box": "why", "chars": pasted, "blocked": False}})
                records += [{"kind": "honeypot", "data": {}}] * (number in filled)
                rows = tuple({"path": path, "at_us": 0, **record} for record in records)
                with writer(essays.database) as connection, connection.begin():
                    write_telemetry(connection, TelemetryBatch(stream, f"{number:032}", rows))
                await essays.click(why=text, price="4711")
            return streams

    return asyncio.run(play())


def integrity(folder: Path, *words: str) -> dict[str, Any]:
    done = parley("show", "integrity", "essays", *words, "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_evidence_of_each_session_and_nothing_of_conditions_and_answers(folder: Path) -> None:
    played(folder, [STORY, OTHER, STORY], pasted=len(STORY))
    database = open_database(settings_for(folder).database_url)
    (problem,) = load_study(str(folder / "essays.yaml")).pools["questions"]
    save_cells(database, "essays", [StoredCell("c1", "alone", "free_text", "one", 0, 1, problem.dataset, problem.id)])
    write_sampled(database, [sampled("c1", 0, 0, f"Well. {OTHER}.", study="essays")])
    database.dispose()

    found = integrity(folder)
    flags = {one["number"]: set(one["flags"]) - {"writing_speed"} for one in found["sessions"]}
    assert flags == {1: {"duplicate"}, 2: {"ai_likeness"}, 3: {"paste_share", "duplicate"}}
    assert found["sessions"][0]["duplicate"]["number"] == 3
    (shown, whole) = (parley("show", "integrity", "essays", *more, folder=folder).stdout for more in ([], ["--all"]))
    for text in (json.dumps(found), shown, whole):
        assert not any(word in text for word in ("with_ai_arm", "without_ai_arm", "secret_arm", "4711", "explain"))


def test_false_alarms_are_those_of_pilots_and_unknown_with_few(folder: Path) -> None:
    played(folder, [STORY])
    played(folder, [OTHER, f"{OTHER} or {STORY}"], origin="pilot")
    few = {row["indicator"]: row for row in integrity(folder)["indicators"]}
    assert few["paste_share"]["pilots"] == {"flagged": 0, "known": 2, "share": None}
    assert few["paste_share"]["simulated"] is None
    played(folder, [OTHER] * 18, origin="pilot", pasted=100)
    many = {row["indicator"]: row for row in integrity(folder)["indicators"]}
    assert many["paste_share"]["pilots"]["known"] == 20
    assert many["paste_share"]["pilots"]["share"]["value"] == 0.05
    assert many["duplicate"]["pilots"]["flagged"] == 19
    assert many["duplicate"]["sessions"]["flagged"] == 0, "pilots are not compared with people"


@pytest.mark.parametrize(
    ("wish", "flag", "texts", "filled", "told", "unseen"),
    [
        (
            {"hidden_instruction": "hazelnut"},
            "hidden_word",
            [STORY, f"{OTHER} Hazelnut."],
            frozenset[int](),
            "hidden from people",
            r'<p class="unseen" aria-hidden="true"[^>]*>[^<]*hazelnut[^<]*</p>\s*<div class="field" data-field="why"',
        ),
        (
            {"honeypot": True},
            "honeypot",
            [STORY, OTHER],
            frozenset({2}),
            "box that is hidden from people",
            r'<input type="text" data-honeypot tabindex="-1" autocomplete="off">',
        ),
    ],
)
def test_a_trap_is_disclosed_there_after_consent_and_looked_for(
    folder: Path, wish: dict[str, Any], flag: str, texts: list[str], filled: frozenset[int], told: str, unseen: str
) -> None:
    studies.write(folder, STUDY | {"integrity": wish})
    played(folder, texts, filled=filled)
    assert [flag in one["flags"] for one in integrity(folder)["sessions"]] == [False, True]
    consent, form = asyncio.run(consent_and_form(folder))
    assert told in consent
    assert not re.search(unseen, consent)
    assert re.search(unseen, form)


async def consent_and_form(folder: Path) -> tuple[str, str]:
    async with Sitting(folder, load_study(str(folder / "essays.yaml"))) as essays:
        consent = html_of((await essays.begin()).live)
        return consent, html_of((await essays.click(agreed=True)).live)


def html_of(live: Any) -> str:
    context = study_context_of(live)
    return str(render_page(live.screen, study=context, shown=None, draft={})["updates"]["left"]["value"])


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
    with (folder / "integrity.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# The condition, an answer, a question, and links to a transcript.
TELLING = ("with_ai_arm", "without_ai_arm", "secret_arm", "4711", "apples", "tab=sessions")


async def painted(researcher: Researcher, **place: str) -> Mapping[str, Any]:
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
        assert "note bad" in value(refused["note"])
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
