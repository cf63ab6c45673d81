"""How long each step takes, from the times of the facts of the last sessions that have ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from statistics import median

from sqlalchemy import Connection, select

from experiments.core.events import Event
from experiments.core.spans import spans
from experiments.core.telemetry import folded
from storage import tables
from storage.seats import OURS

MOST_SESSIONS = 200
_seat, _fact = tables.seats.c, tables.events.c


@dataclass(frozen=True, slots=True)
class Typical:
    """The median time on a step, and how often that was measured."""

    seconds: float
    times: int


def typical(connection: Connection, study: str, origin: str) -> Mapping[str, Typical]:
    """The times of the steps by their folded paths; turns of a loop count each."""
    known = {"study": study, "origin": origin}
    found: dict[str, list[float]] = {}
    for _, rows in groupby(connection.execute(_FACTS, known), key=lambda row: row[0]):
        facts = (Event(seq, at_us, "system", path, kind, {}) for _, seq, at_us, path, kind in rows)
        for path, seconds in spans(facts).items():
            found.setdefault(folded(path), []).append(seconds)
    return {path: Typical(median(those), len(those)) for path, those in found.items()}


_LAST = (
    select(_seat.stream)
    .where(OURS, _seat.outcome.is_not(None), _seat.outcome != "withdrawn")
    .order_by(_seat.begun_us.desc())
    .limit(MOST_SESSIONS)
)
_FACTS = (
    select(_fact.stream, _fact.seq, _fact.at_us, _fact.path, _fact.kind)
    .where(_fact.stream.in_(_LAST))
    .order_by(_fact.stream, _fact.seq)
)
