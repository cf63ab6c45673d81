"""Scores of instruments, and answers to surveys and checks, in a study's sessions. Paths have no numbers of turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

from experiments.session.state import visited
from experiments.session.telemetry import without_indices
from experiments.steps.check import CheckStep
from experiments.study.fields import Field
from experiments.study.instrument import Instrument, Score
from experiments.study.location import Location
from experiments.study.problem_answer import AnsweringStep
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.views.instrument_scores import instrument_answers, keyed, scores
from storage.db.engine import Database
from storage.reports.session_views import analysed_sessions

# A name that no question of a check has.
PASSED = "passed"


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


def _given(location: Location) -> Iterator[tuple[str, Field | None, Any]]:
    sent = next((event for event in reversed(location.facts) if event.kind == "submitted"), None)
    if sent is None or not isinstance(location.node, Step):
        return
    for question, field in _asked(location.node).items():
        if question in sent.data:
            yield question, field, sent.data[question]
