"""What must hold of every session in a database at every moment, whatever happened to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Table, select

from app.session.service import SessionService
from experiments.events import NOTES, Event
from experiments.session.engine import end_page, fold, screen
from experiments.study.location import State
from experiments.study.screen import CodeBlock
from experiments.study.study import Study
from storage import tables
from storage.db.engine import Database
from storage.log.event_log import load
from storage.log.projections import differences
from storage.log.seats import seat_of
from tests.fakes.databases import read_tables
from tests.fakes.life import CODES

Logs = Mapping[str, tuple[Event, ...]]
# Tables of which nothing is left where somebody withdrew; of the log, a single fact.
ERASED = (tables.drafts, tables.telemetry)


def rows(database: Database, table: Table) -> list[Any]:
    with database.connect() as connection:
        return list(connection.execute(select(table)).all())


def logs_of(database: Database) -> Logs:
    """Every session's facts, in the order in which they came."""
    entries = sorted(rows(database, tables.sessions), key=lambda entry: int(entry.ordinal))
    return {entry.stream: load(database, entry.stream) for entry in entries}


def check_all(database: Database, study: Study, *runtimes: SessionService) -> None:
    """That every session of a study is sound, and every released row is what the log implies."""
    seats = {seat.stream: seat for seat in rows(database, tables.seats)}
    for stream, log in logs_of(database).items():
        state = fold(log)
        check_log(log, state)
        if state.outcome == "withdrawn":
            check_gone(database, stream)
        if state.outcome:
            check_ending(study, state)
        for runtime in runtimes:
            check_known(runtime, study, stream, state)
        wanted = seat_of(study, state)
        assert (seats[stream].outcome, seats[stream].due_us) == (wanted.outcome, wanted.due_us)
    assert list(differences(database)) == []


def check_log(log: tuple[Event, ...], state: State) -> None:
    """Numbers without gaps, and one ending at most, after which there are only notes."""
    kinds = [event.kind for event in log]
    if state.outcome == "withdrawn":
        assert kinds == ["withdrew"]
        return
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert kinds.count("finished") == bool(state.outcome)
    assert not state.outcome or [kind for kind in kinds if kind not in NOTES][-1] == "finished"
    times = [event.at_us for event in log]
    assert times == sorted(times)


def check_gone(database: Database, stream: str) -> None:
    for table in ERASED:
        assert not [row for row in rows(database, table) if row.stream == stream]
    assert not [row for found in read_tables(database).values() for row in found if stream in row]
    assert {row.sealed for row in rows(database, tables.identities) if row.stream == stream} == {b""}
    assert {row.text for row in rows(database, tables.attempts) if row.stream == stream} <= {""}


def check_ending(study: Study, state: State) -> None:
    """The outcome is one that a session can have, and the last page tells its code."""
    assert end_page(study, state).code == CODES[state.outcome]
    last = screen(study, state)
    assert last.ended
    assert [block.code for block in last.panel.blocks if isinstance(block, CodeBlock)] == [CODES[state.outcome]]


def check_known(service: SessionService, study: Study, stream: str, state: State) -> None:
    kept = service._kept.get(stream)
    if kept is None:
        return
    if kept.state.seq == state.seq:
        assert kept.state == state
        assert kept.screen == screen(study, state)
    else:
        assert kept.state.seq < state.seq
        assert state.outcome == "withdrawn" or kept.state.events == state.events[: kept.state.seq]
