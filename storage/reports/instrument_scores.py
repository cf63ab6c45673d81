"""The scores of instruments in a study's sessions, each with the answers to its items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import nan

from experiments.session.state import visited
from experiments.session.telemetry import without_indices
from experiments.study.instrument import Instrument, Score
from experiments.views.instrument_scores import instrument_answers, keyed, scores
from storage.db.engine import Database
from storage.reports.folded_sessions import folded_sessions


@dataclass(frozen=True, slots=True)
class ScoredSession:
    """A score in a session. `path` has no numbers of turns; `value` is None where too many items are unanswered;
    `items` are the answers in the order of the instrument, reverse items turned, NaN where unanswered."""

    session: str
    path: str
    arms: Mapping[str, str]
    instrument: Instrument
    score: Score
    value: float | None
    items: tuple[float, ...]


def scored_sessions(database: Database, study: str, origin: str, *, complete: bool = False) -> Iterator[ScoredSession]:
    """Every score of a study's sessions of one origin, in the order of arrival; the sessions are those of
    `folded_sessions`."""
    for session in folded_sessions(database, study, origin, complete=complete):
        for place in visited(session.study, session.state):
            for found in instrument_answers(session.study, place):
                one = found.instrument
                for score, made in zip(one.scores, scores(one, found.answers), strict=True):
                    items = tuple(
                        keyed(one, item, found.answers[item.id]) if item.id in found.answers else nan
                        for item in one.items_of(score)
                    )
                    path = without_indices(place.path)
                    yield ScoredSession(session.stream, path, session.arms, one, score, made.value, items)
