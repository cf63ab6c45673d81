"""What analyses read of a study's sessions besides released rows: scores of instruments, answers to surveys, labels of
problems, and the time on every screen.

Paths have no numbers of turns, except those of screens. How long a screen was there is the server's: from the fact that
brought it up to the one that left it. All else of a screen is the page's word: how long it was seen, read and typed on,
what was pasted and copied, and how often it was left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import nan
from statistics import median
from typing import Any

from experiments.session.state import visited
from experiments.session.telemetry import without_indices
from experiments.session.timing import shown_us
from experiments.steps.check import CheckStep
from experiments.study.fields import Field
from experiments.study.instrument import Instrument, Score
from experiments.study.location import Location
from experiments.study.problem_answer import AnsweringStep
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.views.instrument_scores import instrument_answers, keyed, scores
from experiments.views.problem_history import problem_turns
from experiments.views.screen_measures import ClientMeasures, added_up, seconds_shown
from storage.db.engine import Database
from storage.log import telemetry
from storage.log.folded_sessions import FoldedSession, folded_sessions
from storage.registers.origins import Origin, origins
from storage.reports.analysis_data import sessions_left_out

PASSED = "passed"
"""A name that no question of a check has."""
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
class ScoredSession:
    """A score in a session. `value` is None where too many items are unanswered; `items` are the answers in the order
    of the instrument, reverse items turned, NaN where unanswered."""

    session: str
    path: str
    arms: Mapping[str, str]
    instrument: Instrument
    score: Score
    value: float | None
    items: tuple[float, ...]


def scored_sessions(database: Database, study: str, origin: str, *, complete: bool = False) -> Iterator[ScoredSession]:
    """Every score in the sessions of `analysed_sessions`."""
    for session in analysed_sessions(database, study, origin, complete=complete):
        for place in visited(session.study, session.state):
            for found in instrument_answers(session.study, place):
                one, given = found.instrument, found.answers
                for score, made in zip(one.scores, scores(one, given), strict=True):
                    answers = (keyed(one, i, given[i.id]) if i.id in given else nan for i in one.items_of(score))
                    path = without_indices(place.path)
                    yield ScoredSession(session.stream, path, session.arms, one, score, made.value, tuple(answers))


@dataclass(frozen=True, slots=True)
class SurveyAnswer:
    """An answer in a session; or whether a check was passed: then `question` is PASSED, and `field` is None. `value` is
    None where the question was left out."""

    session: str
    path: str
    arms: Mapping[str, str]
    question: str
    field: Field | None
    value: Any


def survey_questions(study: Study) -> Iterator[tuple[str, str]]:
    """The path and the name of each question, and PASSED of each check."""
    for path, step in study.steps:
        yield from ((path, name) for name in _asked(step))


def survey_answers(database: Database, study: str, origin: str, *, complete: bool = False) -> Iterator[SurveyAnswer]:
    """The answers to surveys and checks in the sessions of `analysed_sessions`, each with the question as its session
    had it. Only forms that were sent count; of a check with several tries, the last."""
    for session in analysed_sessions(database, study, origin, complete=complete):
        for place in visited(session.study, session.state):
            for question, field, value in _given(place):
                path = without_indices(place.path)
                yield SurveyAnswer(session.stream, path, session.arms, question, field, value)


def _asked(step: Step) -> Mapping[str, Field | None]:
    """The questions of a step by name. Consent has none, and answers to problems and ratings have analyses of their
    own; the options of a problem that is asked as a check differ."""
    if step.admits or isinstance(step, AnsweringStep) or type(step).rates is not Step.rates:
        return {}
    fields = {field.name: field for field in step.questions_asked() if type(field) is not Field}
    return {PASSED: None, **fields} if isinstance(step, CheckStep) else fields


def _given(place: Location) -> Iterator[tuple[str, Field | None, Any]]:
    sent = next((event for event in reversed(place.facts) if event.kind == "submitted"), None)
    if sent is None or not isinstance(place.node, Step):
        return
    for question, field in _asked(place.node).items():
        if question in sent.data:
            yield question, field, sent.data[question]


@dataclass(frozen=True, slots=True)
class Label:
    """One form that somebody sent about a problem; `rater` is the session's stream."""

    rater: str
    problem: str
    values: Mapping[str, Any]


def labels(database: Database, study: str, origin: str | None, step: str) -> Iterator[Label]:
    """The answers about problems given in a step of that id; people's, unless there are none. Excluded sessions are
    left out."""
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


def typical(found: Iterable[ScreenVisit]) -> tuple[ScreenSummary, ...]:
    """The screens of all sessions, with the turns of loops as one, in the order in which they are met."""
    alike: dict[tuple[str, str], list[ScreenVisit]] = {}
    for one in found:
        alike.setdefault((without_indices(one.path), one.step), []).append(one)
    return tuple(_typical(path, step, those) for (path, step), those in alike.items())


def _typical(path: str, step: str, those: list[ScreenVisit]) -> ScreenSummary:
    times = {"seconds": _known(one.seconds for one in those)}
    times |= {name: _known(getattr(one.client, name) for one in those) for name in TIMES}
    counts = {name: _known(getattr(one.client, name) for one in those) for name in COUNTS}
    return ScreenSummary(
        path,
        step,
        len(those),
        medians={name: median(values) if values else None for name, values in times.items()},
        sums={name: sum(values) if values else None for name, values in counts.items()},
    )


def _known(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]
