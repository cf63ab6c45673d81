"""Who withdraws while a model is asked about them takes along what it was asked, and what it replied."""

from __future__ import annotations

import json
from pathlib import Path

from sqlalchemy import text

from experiments.core.events import Action
from experiments.core.session import decide, fold
from storage.engine import Database
from storage.log import Log
from storage.projections import differences
from storage.seating import seat_changes
from storage.studies import Studies
from storage.work import Append
from tests.wiring.test_annotating import BY_MODEL, annotate, facts, judge, simulated

__all__ = ["judge"]


def withdraw(database: Database, stream: str) -> None:
    """Erase a session as its participant does."""
    log = Log(database)
    state = fold(log.load(stream))
    study = Studies(database).get(state.enrolled["hash"])
    events = decide(study, state, Action("withdraw", "", {}, state.events[-1].at_us + 1))
    seat = seat_changes(study, state, fold(events, state))
    log.append(Append(stream, study.name, events, origin="bot", seat=seat, erases=True)).result()
    log.close()


def test_what_came_about_somebody_after_they_withdrew_is_deleted(tmp_path: Path) -> None:
    database = simulated(tmp_path)
    with database.connect() as connection:
        gone, *_ = streams = connection.execute(text("SELECT stream FROM session ORDER BY ordinal")).scalars().all()
    left = [gone]

    def reply(prompt: str) -> str:
        if left:
            withdraw(database, left.pop())
        return json.dumps({"user_effort": "tried"})

    BY_MODEL["good"] = reply
    done = annotate(tmp_path, "talk", "--with", "user_effort", "--model", "judge:good", "--concurrency", "1")
    assert done.returncode == 0, done.stderr
    assert "of who withdrew: 1" in done.stdout
    assert facts(database) == len(streams) - 1
    with database.connect() as connection:
        kept = connection.execute(text("SELECT count(*) FROM attempt WHERE cell IS NOT NULL")).scalar()
        about = connection.execute(text("SELECT stream FROM ai_cell")).scalars().all()
    assert (kept, sorted(about)) == (5, sorted(streams[1:]))
    assert list(differences(database)) == []
