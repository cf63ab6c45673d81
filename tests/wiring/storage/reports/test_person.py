"""One person's data: everything of theirs, and nothing of anybody else."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from app.studies.loader import load_study, read_yaml
from storage.accounts.audit_log import AuditLog
from storage.accounts.roles import TERMINAL
from storage.db.engine import Database
from storage.log.event_log import load
from storage.payments.payments import Payment, payees, record
from storage.reports.sessions import read_session
from tests.fakes import studies
from tests.fakes.commanding import parley
from tests.fakes.served import SECRET
from tests.fakes.visits import Visits, begin

pytestmark = pytest.mark.anyio
IDS = {"ada": "5f3a0c6e9d1b2a7c4e8f0d12", "bob": "5f3a0c6e9d1b2a7c4e8f0d34", "eve": "5f3a0c6e9d1b2a7c4e8f0d56"}


@pytest.fixture
async def visits(tmp_path: Path, database: Database) -> AsyncIterator[Visits]:
    found = begin(tmp_path, database, bonus=[{"per": "completion", "amount": 2}])
    for name in ("bob", "ada", "eve"):
        await found.take_part(IDS[name], f"zq{name}qz")
        await found.runtime.remark(found.streams[IDS[name]], "noted", f"rang up: zq{name}qz", f"researcher-{name}")
    yield found
    await found.runtime.close()


def export(visits: Visits, *words: str) -> tuple[dict[str, Any], str]:
    file = visits.folder / "person.zip"
    done = parley("person", "export", *words, "-o", str(file), folder=visits.folder, PARLEY_SECRET=SECRET)
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with ZipFile(file) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert set(texts) == {"README.md", "person.json"}
    return json.loads(texts["person.json"]), "\n".join(texts.values())


def strangers(visits: Visits, name: str) -> set[str]:
    """What belongs to the others: ids, words, sessions, seeds, researchers."""
    found = set()
    for other, id_ in IDS.items():
        stream = visits.streams[id_]
        seed = load(visits.database, stream)[0].data["seed"]
        own = {f"zq{other}qz", f"submission-zq{other}qz", id_, stream, seed}
        found |= own if other != name else {seed}
        found.add(f"researcher-{other}")
    return found


@pytest.mark.parametrize("name", ["ada", "bob"])
async def test_everything_of_one_person_and_nothing_of_anybody_else(visits: Visits, name: str) -> None:
    (due,) = [one for one in payees(visits.database, visits.people, "short", now_us=0) if one.id == IDS[name]]
    record(visits.database, [Payment(due, "bonus-1.csv")], "key", visits.clock.now_us())
    data, text = export(visits, IDS[name])
    (session,) = data["sessions"]
    stream = visits.streams[IDS[name]]
    assert session["identity"] == {"recruiter": "prolific", "id": IDS[name], "submission": f"submission-zq{name}qz"}
    assert (session["session"], session["outcome"], session["number"]) == (stream, "complete", due.number)
    events = load(visits.database, stream)
    said = [event.data["text"] for event in events if event.kind in ("said", "replied")]
    assert [one["text"] for one in session["messages"]] == said
    comments = [answer["value"] for answer in session["answers"] if answer["question"] == "comment"]
    assert comments == [event.data["comment"] for event in events if "comment" in event.data]
    assert [one["text"] for one in session["remarks"] if one["kind"] == "noted"] == [f"rang up: zq{name}qz"]
    assert [(one["amount"], one["file"]) for one in session["payments"]] == [("2.00", "bonus-1.csv")]
    assert len(session["events"]) == sum(event.by != "researcher" for event in events)
    assert session["timings"]
    assert len(session["model_calls"]) == len([event for event in events if event.kind == "replied"])
    assert [word for word in strangers(visits, name) if word in text] == []


async def test_by_session_and_by_exported_id_it_is_the_same_person(visits: Visits) -> None:
    stream = visits.streams[IDS["ada"]]
    by_id, _ = export(visits, IDS["ada"])
    exported_id, number = by_id["sessions"][0]["ids_in_exported_data"]["participant"], by_id["sessions"][0]["number"]
    for name in (stream, exported_id):
        assert export(visits, name)[0]["sessions"] == by_id["sessions"]
    deeds = AuditLog(visits.database, visits.clock.now_us).read(TERMINAL)
    assert [(deed.what, deed.about) for deed in deeds] == [("exported a person's data", f"short No. {number}")] * 3


async def test_who_came_in_another_browser_without_a_proof_is_left_out(visits: Visits) -> None:
    await visits.take_part(IDS["ada"], "zqmalqz", proof="none", same_id=True)
    doubtful = visits.streams[IDS["ada"]]
    data, text = export(visits, IDS["ada"])
    assert [one["number"] for one in data["sessions"]] == [2]
    assert "zqmalqz" not in text
    assert doubtful not in text
    alone, text = export(visits, doubtful)
    assert [one["session"] for one in alone["sessions"]] == [doubtful]
    assert "zqadaqz" not in text


async def test_of_who_withdrew_only_that_is_left(visits: Visits) -> None:
    await visits.runtime.withdraw(visits.streams[IDS["ada"]])
    data, text = export(visits, IDS["ada"])
    (session,) = data["sessions"]
    assert set(session) == {"study", "title", "study_version", "contact", "session", "number", "outcome", "erased"}
    assert "zqadaqz" not in text
    assert read_session(visits.database, visits.runtime.studies, "short", 2, visits.clock.now_us()).entry.stands


async def test_an_id_that_may_be_several_peoples_is_erased_in_the_study_that_is_named(visits: Visits) -> None:
    first = await visits.take_part("7", "zqoneqz", recruiter="sona")
    raw = {**read_yaml(studies.short(visits.folder)), "study": "other"}
    visits.study = load_study(str(studies.write(visits.folder, raw)))
    visits.runtime.prepare(visits.study)
    second = await visits.take_part("7", "zqtwoqz", recruiter="sona")
    words = ("person", "withdraw", "7", "--yes")
    asked = parley(*words, folder=visits.folder, PARLEY_SECRET=SECRET)
    assert (asked.returncode, "--study" in asked.stderr) == (2, True)
    assert parley(*words, "--study", "other", folder=visits.folder, PARLEY_SECRET=SECRET).returncode == 0
    assert [load(visits.database, stream)[0].kind for stream in (first, second)] == ["enrolled", "withdrew"]
