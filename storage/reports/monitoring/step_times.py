"""How long each step takes, from the times of the facts of the last sessions that have ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from statistics import median
from typing import Any

from sqlalchemy import Connection, bindparam, select

from experiments.events import Event
from experiments.session.telemetry import without_indices
from experiments.session.timing import spans
from storage import tables
from storage.log.seats import OURS

MOST_SESSIONS = 100
Spent = dict[str, dict[str, float]]
"""Seconds on each screen, by session; those who have ended do not change."""
_seat, _fact = tables.seats.c, tables.events.c


@dataclass(frozen=True, slots=True)
class StepTime:
    """The median time on a step, and how often that was measured."""

    seconds: float
    times: int


def typical(connection: Connection, known: Mapping[str, Any], spent: Spent) -> Mapping[str, StepTime]:
    """The times of the steps by their folded paths; turns of a loop count each. What was read once is in `spent`."""
    streams = connection.execute(_LAST, known).scalars().all()
    for stream in spent.keys() - set(streams):
        del spent[stream]
    new = [stream for stream in streams if stream not in spent]
    if new:
        rows = connection.execute(_FACTS, {"streams": new})
        for stream, facts in groupby(rows, key=itemgetter(0)):
            spent[stream] = spans(Event(seq, at_us, "system", path, kind, {}) for _, seq, at_us, path, kind in facts)
    found: dict[str, list[float]] = {}
    for screens in spent.values():
        for path, seconds in screens.items():
            found.setdefault(without_indices(path), []).append(seconds)
    return {path: StepTime(median(those), len(those)) for path, those in found.items()}


_LAST = (
    select(_seat.stream)
    .where(OURS, _seat.outcome.is_not(None), _seat.outcome != "withdrawn")
    .order_by(_seat.begun_us.desc())
    .limit(MOST_SESSIONS)
)
_FACTS = (
    select(_fact.stream, _fact.seq, _fact.at_us, _fact.path, _fact.kind)
    .where(_fact.stream.in_(bindparam("streams", expanding=True)))
    .order_by(_fact.stream, _fact.seq)
)
