"""A study as it is watched: against its sessions folded one by one, on each kind of database; and asked once."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event

from app.bots.simulate import START_US
from experiments.session.engine import fold
from experiments.session.state import current_location
from experiments.study.location import State, without_indices
from experiments.study.study import Study
from experiments.views.quality_flags import flags
from storage import tables
from storage.db.engine import Database
from storage.log.event_log import load
from storage.log.seats import query_params
from storage.reports.monitoring import StudyMonitor, StudyMonitors, load_monitor
from storage.reports.monitoring.fidelity import FidelityMonitor, SessionCache, fidelity_monitor
from storage.reports.monitoring.sessions import MOST_WAITING
from tests.fakes.databases import busy, fill, rows
from tests.fakes.model_replies import HOUR_US, OneReply, write_sessions
from tests.fakes.postgres import POSTGRES_BY_NIGHT
from tests.fakes.sessions import study
from tests.wiring.reading import tally_of

NAME, NOW_US = "chatbench", START_US


def states_of(database: Database, origin: str) -> dict[int, State]:
    with database.connect() as connection:
        sessions = connection.execute(tables.sessions.select().where(tables.sessions.c.origin == origin)).all()
    return {one.ordinal: fold(load(database, one.stream)) for one in sessions}


@POSTGRES_BY_NIGHT
def test_what_is_watched_is_what_the_sessions_facts_say(each_database: Database) -> None:
    asyncio.run(busy(each_database, NAME))
    own = study(NAME)
    for origin in ("person", "bot", "pilot"):
        states = states_of(each_database, origin)
        now_us = max((state.events[-1].at_us for state in states.values()), default=NOW_US) + 5_000_000
        seen = load_monitor(each_database, own, origin, now_us)
        assert seen.tally == tally_of(each_database, NAME, origin, now_us, own.file.session_limits.hold_place_s)
        ended = Counter(state.outcome for state in states.values() if state.outcome)
        back = sum(
            row["released_us"] is not None for row in rows(each_database, tables.seats) if row["origin"] == origin
        )
        assert seen.tally.outcomes == {"live": len(states) - ended.total() - back, "left": back, **ended}
        assert seen.arrived == len(states)
        check_people(own, seen, states)
        check_calls(each_database, seen, origin)


def check_calls(database: Database, monitor: StudyMonitor, origin: str) -> None:
    """Only the calls in the sessions of the origin are shown; and not those of simulated sessions as spent."""
    origins = {row["stream"]: row["origin"] for row in rows(database, tables.sessions)}
    tried = rows(database, tables.attempts)
    mine = [attempt for attempt in tried if origins[attempt["stream"]] == origin]
    assert sum(model.calls for model in monitor.models) == len(mine)
    assert sum(late.replies for late in monitor.latency.values()) == len(mine)
    spent = sum(attempt["cost"] or 0 for attempt in tried if origins[attempt["stream"]] != "bot")
    assert monitor.spent == pytest.approx(spent)


def check_people(own: Study, monitor: StudyMonitor, states: dict[int, State]) -> None:
    live = {number: state for number, state in states.items() if number in {one.ordinal for one in monitor.waiting}}
    assert len(live) == min(MOST_WAITING, monitor.tally.outcomes["live"])
    for one in monitor.waiting:
        place = current_location(own, live[one.ordinal])
        assert place is not None
        assert one.place == without_indices(place.path)
        assert one.since_us <= monitor.now_us
    assert [one.since_us for one in monitor.waiting] == sorted(one.since_us for one in monitor.waiting)
    ended = [state for state in states.values() if state.outcome]
    told = Counter(flag.what for state in ended for flag in flags(own, state))
    assert {name: count for name, count in monitor.odd.flags.items() if name != "leak"} == {
        name: count for name, count in told.items() if name != "leak"
    }
    assert sum(bucket.arrived for bucket in monitor.over_time) == len(states)
    assert sum(bucket.completed for bucket in monitor.over_time) == sum(
        s.outcome == "complete" for s in states.values()
    )
    assert sum(met.now for met in monitor.funnel.steps) == monitor.tally.outcomes["live"]


@POSTGRES_BY_NIGHT
def test_adherence_by_day_and_what_shifts_of_a_model_are_watched(each_database: Database) -> None:
    chance = random.Random(51)

    def drawn(rate: float, **more: Any) -> OneReply:
        return OneReply(chance.random() < rate, chance.randint(15, 25), chance.uniform(0.5, 1.5), **more)

    write_sessions(each_database, "s", [drawn(0.9) for _ in range(60)], START_US)
    cache: SessionCache = {}

    def monitor(hours: int) -> FidelityMonitor:
        with each_database.connect() as connection:
            known = query_params("s", "person", START_US + hours * HOUR_US, 0)
            found = fidelity_monitor(connection, known, cache)
            assert found == fidelity_monitor(connection, known, {}), "what was read before is as if read now"
            return found

    found = monitor(60)
    assert (found.shifts, len(found.days), [*found.adherence]) == ((), 3, [("asks", "role: tutor")])
    assert sum(count.all for count in found.adherence["asks", "role: tutor"].values()) == 60
    write_sessions(each_database, "s", [drawn(0.9, version="m-2")], START_US, 60)
    (shift,) = monitor(61).shifts
    assert (shift.measure, shift.before, shift.after) == ("version", "m-1", "m-2")
    assert shift.at_us == START_US + 60 * HOUR_US
    slow = (replace(drawn(0.2, version="m-2"), latency_s=chance.uniform(2, 4)) for _ in range(30))
    write_sessions(each_database, "s", slow, START_US, 61)
    shifts = {(one.measure, one.arm): one for one in monitor(91).shifts}
    assert shifts.keys() == {("version", ""), ("latency", ""), ("adherence", "role: tutor")}
    assert all(abs(one.at_us - START_US - 61 * HOUR_US) <= 5 * HOUR_US for one in shifts.values())
    assert all(one.found_us < START_US + 91 * HOUR_US for one in shifts.values())


@pytest.mark.nightly
def test_many_who_look_at_once_ask_once_in_two_seconds(database: Database) -> None:
    asyncio.run(fill(database, ["demo"], 1, "1"))
    asked = Counter[str]()
    together = threading.Barrier(8)

    @event.listens_for(database, "before_cursor_execute")
    def count(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        asked["usage"] += "GROUP BY model_usage.model" in statement

    watching = StudyMonitors(database)

    def look(at_us: int) -> StudyMonitor:
        together.wait()
        return watching.load(study("demo"), "bot", at_us)

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(look, [NOW_US + number for number in range(8)]))
    assert asked["usage"] == 1
    assert all(one is seen[0] for one in seen)
    watching.load(study("demo"), "bot", NOW_US + 2_000_010)
    assert asked["usage"] == 2
