"""The live desk: a request for help is saved, alerts, is answered by a command, exported without words, and erased."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from app.alerts import asking_for_help, is_settled, since
from app.studies.loader import read_yaml
from experiments.session.study_status import StudyStatus
from experiments.views.quality_flags import WAITS_FOR_HELP
from storage.log.event_log import load
from storage.registers.alerts import Alert
from storage.reports.sessions import SessionQuery, sessions
from tests.fakes import studies
from tests.fakes.commanding import parley
from tests.fakes.sitting import Sitting

pytestmark = pytest.mark.anyio
WORDS = "Mrs Miller here, I am stuck"


async def test_a_request_for_help_from_the_page_to_the_export(tmp_path: Path) -> None:
    sitting = await Sitting(tmp_path, {**read_yaml(studies.short(tmp_path)), "help": "We answer soon."}).begin()
    study, database, service = sitting.study, sitting.database, sitting.service
    live = (await sitting.act("submit", agreed="on")).live
    await service.save_draft(live.stream, live.screen.path, {"comment": "Half", "help": "a field of the form"})
    key = {"seen": live.screen.seen, "key": "same-key"}
    for _ in range(2):  # the answer to the first did not arrive
        await service.participant(live.stream, "ask_for_help", live.screen.path, {"help": WORDS}, **key)
    assert await service.draft(live.stream, live.screen.path) == {"comment": "Half", "help": "a field of the form"}
    (row,) = sessions(database, "short", SessionQuery(flag=WAITS_FOR_HELP), service.now_us()).entries
    asked = load(database, live.stream)[-1]
    ((alert, data),) = asking_for_help(database, study, StudyStatus(), service.now_us())
    assert (alert.subject, data) == (str(row.number), {"asked_us": asked.at_us})
    shown = Alert(alert, data, opened_us=asked.at_us + 120_000_000, last_us=0, notified_us=0)
    assert since(shown) == since(replace(shown, data={}, opened_us=asked.at_us))
    assert not is_settled(database, shown, service.now_us())

    for command in (["answer", "short", "1", "Go on."], ["end", "short", "1", "technical_failure"]):
        assert parley("session", *command, folder=tmp_path).returncode == 0
    assert parley("session", "give-time", "short", "1", "5", folder=tmp_path).returncode == 2
    assert not [*asking_for_help(database, study, StudyStatus(), service.now_us())]
    assert is_settled(database, shown, service.now_us())
    there = await service.reload(live.stream)
    assert there
    assert there.screen.help
    assert (there.screen.outcome, there.screen.help.messages[-1]) == ("technical_failure", (False, "Go on."))
    assert there.state.events[-1].data["typed"]["comment"] == "Half"

    assert parley("export", "short", "--schema", "tidy", "-o", "out", folder=tmp_path).returncode == 0
    files = {path: path.read_text() for path in (tmp_path / "out").rglob("*.csv")}
    assert not [path for path, text in files.items() if WORDS in text or "Go on." in text]
    (events,) = (path for path in files if "event" in path.name)
    said = [(row["by"], row["event"], row["path"]) for row in csv.DictReader(files[events].splitlines())][-3:]
    assert said == [("participant", "asked_for_help", "remarks"), ("researcher", "helped", ""),
                    ("researcher", "finished", "remarks")]  # fmt: skip
    await service.withdraw(live.stream, by="participant")
    assert [event.kind for event in load(database, live.stream)] == ["withdrew"]
    await sitting.close()
