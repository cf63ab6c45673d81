"""The time on every screen of a study's sessions: from the facts, and beside it what the pages reported.

How long a screen was there is the server's: from the fact that brought it up to the one that left it. All else is the
page's word: how long it was seen, read and typed on, what was pasted and copied, and how often it was left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from sqlalchemy import select

from experiments.session.engine import fold
from experiments.session.state import State, visited
from experiments.session.telemetry import without_indices
from experiments.session.timing import shown_us
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.views.screen_measures import ClientMeasures, added_up, seconds_shown
from storage import tables
from storage.db.engine import Database
from storage.log import telemetry
from storage.log.event_log import facts
from storage.registers.origins import Origin, origins
from storage.registers.studies import Studies


@dataclass(frozen=True, slots=True)
class ScreenVisit:
    """A screen of a session; `seconds` is None where it was not left."""

    session: str
    origin: str
    path: str
    step: str
    shown_us: int
    seconds: float | None
    client: ClientMeasures


@dataclass(frozen=True, slots=True)
class ScreenSummary:
    """A screen over all sessions and turns: how often it was shown, medians of its times, sums of its counts."""

    path: str
    step: str
    shown: int
    medians: Mapping[str, float | None]
    sums: Mapping[str, int | None]


TIMES = ("visible_s", "reading_s", "typing_s", "first_key_s", "away_s")
COUNTS = ("pasted", "pasted_chars", "blocked", "copied", "left")


def screens(database: Database, study: str, origin: str | None = None) -> Iterator[ScreenVisit]:
    """Every screen that a study's sessions came to, session by session: people's, unless there are none."""
    studies, t = Studies(database), tables.sessions.c
    with database.connect() as connection:
        chosen = [name for name in origins(connection, study, origin) if name != Origin.IMPORT][:1]
        wanted = select(t.stream, t.hash, t.origin).where(t.study == study, t.origin.in_(chosen)).order_by(t.ordinal)
        for stream, hash_, session_origin in connection.execute(wanted).all():
            state = fold(facts(connection, stream))
            if state.seq and state.outcome != "withdrawn":
                yield from _shown(studies.get(hash_), state, stream, session_origin, _by_path(database, study, stream))


def _by_path(database: Database, study: str, stream: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in telemetry.read(database, study, stream):
        found.setdefault(row["path"], []).append({**row["data"], "kind": row["kind"]})
    return found


def _shown(
    study: Study, state: State, stream: str, origin: str, records: Mapping[str, list[dict[str, Any]]]
) -> Iterator[ScreenVisit]:
    for place in visited(study, state):
        if isinstance(place.node, Step):
            summed = added_up(records.get(place.path, ()))
            yield ScreenVisit(
                stream, origin, place.path, place.node.step, shown_us(place), seconds_shown(place), summed
            )


def typical(found: Iterable[ScreenVisit]) -> tuple[ScreenSummary, ...]:
    """The screens of all sessions, with the turns of loops as one, in the order in which they are met."""
    alike: dict[tuple[str, str], list[ScreenVisit]] = {}
    for one in found:
        alike.setdefault((without_indices(one.path), one.step), []).append(one)
    return tuple(_typical(path, step, those) for (path, step), those in alike.items())


def _typical(path: str, step: str, those: list[ScreenVisit]) -> ScreenSummary:
    medians = {"seconds": _median(one.seconds for one in those)}
    medians |= {name: _median(getattr(one.client, name) for one in those) for name in TIMES}
    sums = {name: _sum(getattr(one.client, name) for one in those) for name in COUNTS}
    return ScreenSummary(path, step, len(those), medians, sums)


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
