"""Adherence by rule, arm and day, changes of the models in use (of version, latency, length of replies, adherence), and
the calls of tools.

It is of the newest sessions, and a session is read again only after something happened in it. Sessions are compared
(change_point.py), not replies: those of one participant are alike. A running session counts after an hour without an
event, since replies get longer or shorter in the course of a conversation. A new version is a change by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter, itemgetter
from statistics import fmean
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, bindparam, select

from experiments.events import Data, Event
from experiments.session.conversation import is_by_model
from experiments.session.fidelity import CHECKED
from experiments.session.tool_calls import CALLED, OF_CALLS
from experiments.views.fidelity import AdherenceCount, verdicts
from experiments.views.tool_use import tool_uses
from storage import tables
from storage.log.seats import NOT_WITHDRAWN, OURS, cell_key
from storage.reports.monitoring.change_point import FEWEST, change_points

MOST_SESSIONS, MOST_DAYS = 500, 7
MOST_CHARS = 80
SETTLED_US, LATE_VERDICTS_US = 3_600_000_000, 600_000_000
# How a value of each measure is written.
MEASURES: Mapping[str, str] = {"latency": "{:.2f} s", "length": "{:.0f} characters", "adherence": "{:.0%}"}
_seat, _fact = tables.seats.c, tables.events.c


@dataclass(frozen=True, slots=True)
class ModelShift:
    """A measure of replies in an arm (empty: all) differs from `at_us` on, which was found at `found_us`."""

    measure: str
    model: str
    arm: str
    before: str
    after: str
    at_us: int
    found_us: int


@dataclass(frozen=True, slots=True)
class FidelityMonitor:
    """`adherence` by rule and arm, then by day (UTC), `shifts` newest first, `tools` by model and tool."""

    days: tuple[str, ...] = ()
    adherence: Mapping[tuple[str, str], Mapping[str, AdherenceCount]] = field(default_factory=dict)
    shifts: tuple[ModelShift, ...] = ()
    tools: Mapping[tuple[str, str], ToolCounts] = field(default_factory=dict)


class ToolCounts(NamedTuple):
    calls: int
    failed: int
    refused: int


class _Reply(NamedTuple):
    at_us: int
    model: str
    version: str
    characters: int
    latency_s: float | None


@dataclass(frozen=True, slots=True)
class _Session:
    """`verdicts` on replies that were shown: rule, arm, day, model, and whether the rule was kept."""

    last_us: int
    arm: str
    replies: tuple[_Reply, ...]
    verdicts: tuple[tuple[str, str, str, str, bool], ...]
    uses: tuple[tuple[str, str, bool, bool], ...]
    """Calls of tools: model, tool, whether it failed, and whether it was refused."""


# The newest sessions, by stream.
SessionCache = dict[str, _Session]


def fidelity_monitor(connection: Connection, known: Mapping[str, Any], cache: SessionCache) -> FidelityMonitor:
    """Measure the present state of a study's models; `cache` keeps the sessions from one look to the next."""
    seats, now_us = {row.stream: row for row in connection.execute(_NEWEST, known)}, known["now_us"]
    for stream in cache.keys() - seats.keys():
        del cache[stream]
    stale = [
        stream
        for stream, seat in seats.items()
        if stream not in cache or seat.last_us != cache[stream].last_us or now_us - seat.last_us < LATE_VERDICTS_US
    ]
    rows = connection.execute(_EVENTS, {"streams": stale}).all() if stale else []
    events = {stream: [Event(*row[1:]) for row in own] for stream, own in groupby(rows, key=itemgetter(0))}
    cache |= {one: _read(seats[one].last_us, seats[one].cell, events.get(one, [])) for one in stale}
    sessions = {stream: one for stream, one in cache.items() if one.replies}
    by_day: dict[tuple[str, str], dict[str, AdherenceCount]] = {}
    for rule, arm, day, _, kept in sorted(verdict for one in sessions.values() for verdict in one.verdicts):
        own = by_day.setdefault((rule, arm), {})
        before = own.get(day, AdherenceCount(0, 0))
        own[day] = AdherenceCount(before.kept + kept, before.all + 1)
    days = sorted({day for counts in by_day.values() for day in counts})[-MOST_DAYS:]
    settled = [one for stream, one in sessions.items() if seats[stream].outcome or now_us - one.last_us > SETTLED_US]
    shifts = (*_new_versions(sessions.values()), *_shifts(settled))
    newest_first = tuple(sorted(shifts, key=attrgetter("at_us"), reverse=True))
    return FidelityMonitor(tuple(days), by_day, newest_first, _tools(cache.values()))


def _tools(sessions: Iterable[_Session]) -> Mapping[tuple[str, str], ToolCounts]:
    uses = sorted(use for one in sessions for use in one.uses)
    found = {key: [*own] for key, own in groupby(uses, key=itemgetter(0, 1))}
    return {
        key: ToolCounts(len(own), sum(failed for *_, failed, _ in own), sum(refused for *_, refused in own))
        for key, own in found.items()
    }


_NEWEST = (
    select(_seat.stream, _seat.cell, _seat.outcome, _seat.last_us)
    .where(OURS, NOT_WITHDRAWN)
    .order_by(_seat.begun_us.desc())
    .limit(MOST_SESSIONS)
)
_KINDS = ("replied", "opened", CHECKED, CALLED, *OF_CALLS)
_EVENTS = (
    select(_fact.stream, *tables.EVENT)
    .where(_fact.stream.in_(bindparam("streams", expanding=True)), _fact.kind.in_(_KINDS))
    .order_by(_fact.stream, _fact.seq)
)


def _read(last_us: int, cell: str, events: Sequence[Event]) -> _Session:
    replied = {event.seq: event for event in events if is_by_model(event)}
    replies = tuple(_reply(event.at_us, event.data) for event in replied.values())
    days = {seq: f"{datetime.fromtimestamp(event.at_us / 1e6, UTC):%Y-%m-%d}" for seq, event in replied.items()}
    known = tuple(
        (one.rule, cell_key(dict(one.condition)), days[one.of], one.model, one.kept)
        for one in verdicts(events)
        if one.shown and one.kept is not None
    )
    return _Session(last_us, cell_key(orjson.loads(cell)), replies, known, tuple(_uses(events)))


def _uses(events: Sequence[Event]) -> Iterator[tuple[str, str, bool, bool]]:
    for path in dict.fromkeys(event.path for event in events if event.kind == CALLED):
        for use in tool_uses([event for event in events if event.path == path]):
            yield use.called.data["model"], use.call.tool, bool(use.failed), use.decision == "refused"


def _reply(at_us: int, data: Data) -> _Reply:
    waited_us = data.get("first_token_us") or data.get("total_us")
    latency_s = None if waited_us is None else waited_us / 1e6
    return _Reply(at_us, data["model"], data.get("version") or "", len(data["text"]), latency_s)


def _new_versions(sessions: Iterable[_Session]) -> Iterator[ModelShift]:
    """The first reply of each version of a model, but for the oldest version."""
    known: dict[str, list[str]] = {}
    for reply in sorted(reply for one in sessions for reply in one.replies if reply.version):
        versions = known.setdefault(reply.model, [])
        if reply.version not in versions:
            if versions:
                before, after = (one[:MOST_CHARS] for one in (versions[-1], reply.version))
                yield ModelShift("version", reply.model, "", before, after, reply.at_us, reply.at_us)
            versions.append(reply.version)


def _shifts(sessions: Sequence[_Session]) -> Iterator[ModelShift]:
    """The changes of latency, length and adherence, by model and arm; of latency by model alone."""
    series: defaultdict[tuple[str, str, str], list[tuple[int, float]]] = defaultdict(list)
    for one in sorted(sessions, key=lambda one: one.replies[-1].at_us):
        for key, value in _values(one):
            series[key].append((one.replies[-1].at_us, value))
    long_enough = {key: own for key, own in series.items() if len(own) >= 2 * FEWEST}
    for (measure, model, arm), own in long_enough.items():
        for change in change_points([value for _, value in own], len(long_enough), shares=measure == "adherence"):
            before, after = (MEASURES[measure].format(value) for value in (change.before, change.after))
            yield ModelShift(measure, model, arm, before, after, own[change.index][0], own[change.found][0])


def _values(session: _Session) -> Iterator[tuple[tuple[str, str, str], float]]:
    """The mean of each measure in a session, by measure, model and arm."""
    found: defaultdict[tuple[str, str, str], list[float]] = defaultdict(list)
    for reply in session.replies:
        found["length", reply.model, session.arm].append(reply.characters)
        if reply.latency_s is not None:
            found["latency", reply.model, ""].append(reply.latency_s)
    for _, arm, _, model, kept in session.verdicts:
        found["adherence", model, arm].append(kept)
    return ((key, fmean(values)) for key, values in found.items())
