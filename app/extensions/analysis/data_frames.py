"""Released tables as data frames, for the functions of this package and for notebooks.

    from parley_studies.analysis import frame, open_database
    answers = frame(open_database("sqlite:///parley.db"), "chatbench", "user_answers", "person")

The columns are the released ones, by their released names; `_session` identifies the session, in studies with waves the
person, who is one participant in all of them. Whole numbers are pandas' Int64, which allows missing values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from typing import Any

import pandas as pd

from app.clock import SystemClock
from app.extensions.analysis.base import IN_FILE
from app.extensions.analysis.reads.study_data import part_of, parts_of, persons_of_sessions, require_origin, rows
from experiments.errors import suggestion
from experiments.session.conversation import is_by_model, messages_of
from experiments.session.fidelity import Reply
from experiments.session.state import visited
from experiments.session.timing import seconds_shown
from experiments.steps.check import CheckStep
from experiments.study.fields import ANSWER, Field
from experiments.study.location import Location, without_indices
from experiments.study.problem_answer import ADVICE, AnsweringStep
from experiments.study.reply_checks import words
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.views.fidelity import verdicts
from experiments.views.instrument_scores import instrument_answers, keyed, limits, scores
from storage.db.engine import Database
from storage.errors import StorageError
from storage.log.folded_sessions import analysed_sessions
from storage.registers.origins import Origin
from storage.registers.studies import Studies
from storage.reports.attrition import arm_order, people_in_waves
from storage.schemas.registry import released, schemas

DTYPES = {"integer": "Int64", "number": "float64", "text": "object", "json": "object"}
SESSION = "_session"
# How an answer to a problem was given: with the AI if it is beside a conversation or a recommendation.
ALONE, WITH_AI = "alone", "with AI"
# A name that no question of a check has.
PASSED = "passed"


def frame(
    database: Database,
    study: str,
    table: str,
    origin: str,
    *,
    excluded: bool = False,
    complete: bool = False,
    columns: Sequence[str] | None = None,
    part: str = "",
) -> pd.DataFrame:
    """The rows of a study in a released table, or some columns; excluded sessions only with `excluded`. With `complete`
    only those of completed sessions, except in imports, where that is not known.

    `origin` is person, pilot, bot or import, `part` a part of an imported release, by default the first one that it
    has. Raises StorageError if there is no such table or part, or the study has nothing of that origin.
    """
    known = [item.name for schema in schemas().values() for item in schema.tables]
    if table not in known:
        raise StorageError(f"no released table is called {table!r}{suggestion(table, known)}")
    schema_table = released(table)
    kinds = {column.name: column.kind for column in schema_table.columns}
    names = list(kinds) if columns is None else list(columns)
    if origin == Origin.IMPORT and schema_table.parts != ("",):
        part = part_of(parts_of(database, study, origin), study, part)
    found = rows(database, study, schema_table, origin, names, excluded=excluded, complete=complete, part=part)
    if not found:
        require_origin(database, study, origin)
    data = _by_person(database, study, pd.DataFrame(found, columns=[*names, SESSION], dtype="object"))
    return data.astype({name: DTYPES[kinds[name]] for name in names})


def _by_person(database: Database, study: str, rows: pd.DataFrame) -> pd.DataFrame:
    persons = persons_of_sessions(database, study)
    return rows.assign(**{SESSION: [persons.get(stream, stream) for stream in rows[SESSION]]}) if persons else rows


def wave_frame(database: Database, study: str, origin: str, *, complete: bool = False) -> pd.DataFrame:
    """The waves of the participants who completed the first one of a study with waves: `wave`, `number` (from 0),
    `state` (`done`, `missed`, `dropped`; `pending` if it is not over for them) and `arms`. It does not depend on
    `complete`; excluded persons are left out. Raises StorageError if the study has nothing of that origin."""
    require_origin(database, study, origin)
    found = [
        (wave, number, state, one.arms, one.person)
        for one in people_in_waves(database, study, origin, SystemClock().now_us())
        for number, (wave, state) in enumerate({**one.states, **one.later}.items() if one.later else ())
    ]
    data = pd.DataFrame(found, columns=["wave", "number", "state", "arms", SESSION])
    for newest in Studies(database).with_sessions(study, origin)[-1:]:
        data.attrs = {IN_FILE: arm_order(newest)}
    return data


def instrument_frame(database: Database, study: str, origin: str, *, complete: bool = False) -> pd.DataFrame:
    """The scores of instruments, a row for each score of a session at each place: `path` (without loop indices),
    `instrument`, `title`, `score`, `score_title`, `value` (NaN without a score), `low` and `high` (the ends of its
    scale), `items` (a tuple of the answers, reverse items turned, NaN where unanswered) and `arms` (a mapping of
    factors to values).

    Excluded and withdrawn sessions are left out, with `complete` also those that were not completed, and imports have
    no scores. Raises StorageError if the study has nothing of that origin.
    """
    require_origin(database, study, origin)
    found = [
        (
            without_indices(place.path), one.instrument, one.title, score.name, score.title, made.value,
            *limits(one, score),
            tuple(keyed(one, i, given[i.id]) if i.id in given else nan for i in one.items_of(score)),
            session.arms, session.stream,
        )
        for session in analysed_sessions(database, study, origin, complete=complete)
        for place in visited(session.study, session.state)
        for one, given in ((found.instrument, found.answers) for found in instrument_answers(session.study, place))
        for score, made in zip(one.scores, scores(one, given), strict=True)
    ]  # fmt: skip
    columns = ["path", "instrument", "title", "score", "score_title", "value", "low", "high", "items", "arms", SESSION]
    data = _by_person(database, study, pd.DataFrame(found, columns=columns, dtype="object"))
    return data.astype(dict.fromkeys(("value", "low", "high"), "float64"))


def survey_frame(database: Database, study: str, origin: str, *, complete: bool = False) -> pd.DataFrame:
    """The answers to the questions of surveys and checks, in the order of the study, then of arrival: `path` (without
    loop indices), `question`, `field` (the question as the session had it), `value` (None where it was left out) and
    `arms` (a mapping of factors to values). For each check there is also a row without a `field`, whose `question` is
    `passed` and whose `value` is whether it was.

    The sessions are those of `instrument_frame`. Raises StorageError if the study has nothing of that origin.
    """
    require_origin(database, study, origin)
    versions = Studies(database).with_sessions(study, origin)
    keys = dict.fromkeys(key for one in reversed(versions) for key in survey_questions(one))
    order = {key: n for n, key in enumerate(keys)}
    found = (
        (without_indices(place.path), question, field, value, session.arms, session.stream)
        for session in analysed_sessions(database, study, origin, complete=complete)
        for place in visited(session.study, session.state)
        for question, field, value in _given(place)
    )
    rows = sorted(found, key=lambda one: order[one[0], one[1]])
    columns = ["path", "question", "field", "value", "arms", SESSION]
    return _by_person(database, study, pd.DataFrame(rows, columns=columns, dtype="object"))


def conversation_frame(database: Database, study: str, origin: str, *, complete: bool = False) -> pd.DataFrame:
    """The conversations in which a model replied: `path` (without loop indices), `arms` (a mapping of factors and of
    what loops vary to values), `turns` (the participant's messages), `words_written`, `words_read`, `minutes` (NaN if
    the screen was not left), `replies` (model, version and time in microseconds of each that was shown), `verdicts`.

    The sessions are those of `instrument_frame`. Raises StorageError if the study has nothing of that origin.
    """
    require_origin(database, study, origin)
    columns = ["path", "arms", "turns", "words_written", "words_read", "minutes", "replies", "verdicts", SESSION]
    found = [
        (*_conversed(place), session.stream)
        for session in analysed_sessions(database, study, origin, complete=complete)
        for place in visited(session.study, session.state)
        if any(event.kind == "replied" for event in place.facts)
    ]
    data = _by_person(database, study, pd.DataFrame(found, columns=columns, dtype="object"))
    return data.astype(dict.fromkeys(columns[2:6], "float64"))


def answer_frame(database: Database, study: str, origin: str, *, complete: bool = False) -> pd.DataFrame:
    """The answers that were sent to problems with a right answer: `dataset`, `question`, `kind` (ALONE or WITH_AI),
    `correct` (1 or 0) and `arms` (a mapping of factors and of what loops vary to values).

    The sessions are those of `instrument_frame`. Raises StorageError if the study has nothing of that origin.
    """
    require_origin(database, study, origin)
    found = [
        (*answer, session.stream)
        for session in analysed_sessions(database, study, origin, complete=complete)
        for place in visited(session.study, session.state)
        for answer in _answered(place)
    ]
    columns = ["dataset", "question", "kind", "correct", "arms", SESSION]
    data = _by_person(database, study, pd.DataFrame(found, columns=columns, dtype="object"))
    return data.astype({"correct": "float64"})


def _answered(location: Location) -> Iterator[tuple[Any, ...]]:
    step, problem = location.node, location.scope.problem
    sent = next((event for event in reversed(location.facts) if event.kind == "submitted"), None)
    if sent is None or not isinstance(step, AnsweringStep) or problem is None or problem.answer is None:
        return
    if (given := sent.data.get(ANSWER.name)) is not None:
        kind = WITH_AI if sent.data.get(ADVICE) is not None or any(step.asks_models(())) else ALONE
        yield problem.dataset, problem.id, kind, step.accepts(problem, given), Reply(location, "", 0, "").condition


def _conversed(location: Location) -> tuple[Any, ...]:
    messages = messages_of(location.facts)
    said, read = ([one for one in messages if (one.kind == "said") is own] for own in (True, False))
    sizes = [sum(len(words(event.data["text"])) for event in some) for some in (said, read)]
    seconds = seconds_shown(location)
    replies = tuple((one.data["model"], one.data.get("version") or "", one.at_us) for one in read if is_by_model(one))
    about = without_indices(location.path), Reply(location, "", 0, "").condition
    return *about, len(said), *sizes, seconds and seconds / 60, replies, tuple(verdicts(location.facts))


def survey_questions(study: Study) -> Iterator[tuple[str, str]]:
    """The path and the name of each question, and PASSED of each check."""
    for path, step in study.steps:
        yield from ((path, name) for name in _asked(step))


def _asked(step: Step) -> Mapping[str, Field | None]:
    """The questions by name; not those of consent, problems and ratings, which have analyses of their own."""
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
