"""A study's sessions besides released rows: labels of problems, and the time on every screen.

How long a screen was there is the server's: from the fact that
brought it up to the one that left it. All else of a screen is the page's word: how long it was seen, read and typed on,
what was pasted and copied, and how often it was left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from experiments.session.state import visited
from experiments.session.timing import ClientMeasures, added_up, seconds_shown, shown_us
from experiments.study.location import without_indices
from experiments.study.step import Step
from experiments.views.problem_history import problem_turns
from storage.db.engine import Database
from storage.log import telemetry
from storage.log.folded_sessions import FoldedSession, folded_sessions
from storage.log.seats import sessions_left_out
from storage.registers.origins import Origin, origins

TIMES = ("visible_s", "reading_s", "typing_s", "first_key_s", "away_s")
COUNTS = ("pasted", "pasted_chars", "blocked", "copied", "left")


def analysed_sessions(
    database: Database, study: str, origin: str, *, complete: bool = False
) -> Iterator[FoldedSession]:
    """The sessions of one origin; those that were excluded or (with `complete`) were not completed are left out."""
    return folded_sessions(database, study, (origin,), sessions_left_out(study, origin, complete=complete))


def _own_origin(database: Database, study: str, wanted: str | None) -> str | None:
    """The first origin of sessions that were not imported: people's, unless there are none."""
    with database.connect() as connection:
        return next((one for one in origins(connection, study, wanted) if one != Origin.IMPORT), None)


@dataclass(frozen=True, slots=True)
class Label:
    """One form that somebody sent about a problem; `rater` is the session's stream."""

    rater: str
    problem: str
    values: Mapping[str, Any]


def labels(database: Database, study: str, origin: str | None, step: str) -> Iterator[Label]:
    """The answers about problems in a step; people's, unless there are none. Excluded sessions are left out."""
    own = _own_origin(database, study, origin)
    for session in analysed_sessions(database, study, own) if own else ():
        for unit in problem_turns(session.study, session.state):
            for done in unit.steps:
                if done.id == step and done.submitted is not None:
                    yield Label(session.stream, unit.problem.id, done.submitted.data)


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


def screens(database: Database, study: str, origin: str | None = None) -> Iterator[ScreenVisit]:
    """Every screen that a study's sessions came to, session by session: people's, unless there are none."""
    own = _own_origin(database, study, origin)
    for stream, _, its, version, state in folded_sessions(database, study, (own,)) if own else ():
        records = telemetry.by_path(telemetry.read(database, study, stream))
        for place in visited(version, state):
            if isinstance(place.node, Step):
                client, step = added_up(records.get(place.path, ())), place.node.step
                yield ScreenVisit(stream, its, place.path, step, shown_us(place), seconds_shown(place), client)


def typical(visits: Iterable[ScreenVisit]) -> tuple[ScreenSummary, ...]:
    """The screens of all sessions, with the turns of loops as one, in the order in which they are met."""
    alike: dict[tuple[str, str], list[ScreenVisit]] = {}
    for one in visits:
        alike.setdefault((without_indices(one.path), one.step), []).append(one)
    return tuple(_typical(path, step, those) for (path, step), those in alike.items())


def _typical(path: str, step: str, visits: list[ScreenVisit]) -> ScreenSummary:
    times = {"seconds": _known(one.seconds for one in visits)}
    times |= {name: _known(getattr(one.client, name) for one in visits) for name in TIMES}
    counts = {name: _known(getattr(one.client, name) for one in visits) for name in COUNTS}
    return ScreenSummary(
        path,
        step,
        len(visits),
        medians={name: median(values) if values else None for name, values in times.items()},
        sums={name: sum(values) if values else None for name, values in counts.items()},
    )


def _known(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]
