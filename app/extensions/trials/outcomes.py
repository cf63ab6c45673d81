"""The data of a trial: its sessions, and the values of an outcome in the two groups of a contrast.

Values are those of the tidy tables (storage/datasets/tidy). Of several answers to a question the last counts, so that
an answer after a chat replaces the one before it; ratings all count. `seconds` is known for complete sessions.

In a study with waves a session of a trial is a person's: all their waves, in order, under the id of the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from statistics import fmean
from typing import Any

import pandas as pd

from app.errors import TrialError
from app.extensions.trials.estimator import AFTER, BEFORE, CONTROL, TREATMENT, Difference, difference, paired
from app.extensions.trials.plan_check import CONFIDENCES
from experiments.events import Event
from experiments.session.state import visited
from experiments.session.waves import goes_on
from experiments.study.sections.plan import STEP, Hypothesis, Plan, PlannedContrast
from experiments.study.step import Step
from experiments.views.bonus import ATTENTION, checks_failed
from experiments.views.fidelity import verdicts
from storage.datasets.exports.plan import ExportRequest, plan_export
from storage.datasets.exports.session_filter import SessionFilter
from storage.datasets.exports.session_rows import SessionRows
from storage.datasets.tidy.columns import NAME, Layout
from storage.datasets.tidy.rows import TidySession, rows
from storage.db.engine import Database
from storage.log.seats import COMPLETE

# How an answer must have been given to count; one that was only entered, or missed a check, does not.
GIVEN = ("submitted", "rated", "voted")
# More than a session has, so that values of a later wave come after those of an earlier one.
MOST_EVENTS = 10**9


@dataclass(frozen=True, slots=True)
class TrialValue:
    """The id of its step, the names in scope, and its question, if it is about one. `order` rises in a session."""

    session: str
    step: str
    scope: Mapping[str, str]
    question: str
    order: int
    value: float


@dataclass(frozen=True, slots=True)
class TrialSession:
    """A session of a trial whose data are not erased, or all sessions of a person."""

    session: str
    factors: Mapping[str, str]
    """The values assigned to the participant; empty before the assignment."""
    reached: frozenset[tuple[str, str]]
    """The names in scope with their values, and `step` with ids, at all places that the session reached."""
    outcome: str
    """Empty while it is in progress, and until the last wave that a person takes part in."""
    seconds: float
    excluded: str | None
    """The reason for which a researcher excluded it."""
    failed_attention: bool
    """True if an attention check was failed, or the session ended for it."""
    started: bool
    """True if a screen was sent after the assignment."""
    covariates: Mapping[str, float] = field(default_factory=dict)
    adherence: float = 1.0
    """The share of the verdicts on its replies that a rule was kept; 1 without any."""

    @property
    def complete(self) -> bool:
        return self.outcome == COMPLETE

    def arm(self, contrast: PlannedContrast) -> str:
        """`treatment` or `control` if the participant was assigned to one of the two; otherwise empty."""
        return arm_of(contrast, self.factors)

    def assigned(self, contrast: PlannedContrast) -> bool:
        """True if assigned to a group; or, where participants are in both, if they began with one of them."""
        if contrast.factor in self.factors:
            return bool(self.arm(contrast))
        return not self.reached.isdisjoint((contrast.factor, value) for value in (contrast.treatment, contrast.control))


@dataclass(frozen=True)
class TrialData:
    plan: Plan
    sessions: tuple[TrialSession, ...]
    values: Mapping[str, tuple[TrialValue, ...]]

    @cached_property
    def by_session(self) -> Mapping[str, TrialSession]:
        return {one.session: one for one in self.sessions}

    def rows(self, hypothesis: Hypothesis, sessions: Iterable[str]) -> pd.DataFrame:
        """The values that a hypothesis compares, of some sessions, as the estimator reads them.

        Columns: `participant` (a session), `arm` (`treatment` or `control`), or `moment` (`after` or `before`) where
        two steps are compared; `question`, if the outcome is about questions; `value`; the plan's covariates. With
        missing data as `worst-case` there is one row for each participant and group: the mean, 0 without any value.
        """
        among, contrast = frozenset(sessions), hypothesis.contrast
        every = hypothesis.outcome.startswith("rating.")
        found: dict[tuple[str, str, str, int], float] = {}
        for one in self.values[hypothesis.outcome]:
            if one.session in among and (group := self._group(contrast, one)):
                found[one.session, group, one.question, one.order if every else 0] = one.value
        cells = [(session, group, question, value) for (session, group, question, _), value in found.items()]
        name = "moment" if contrast.factor == STEP else "arm"
        frame = pd.DataFrame(cells, columns=["participant", name, "question", "value"])
        if self.plan.missing == "worst-case":
            frame = self._worst(frame, contrast, among, name)
        if frame.empty or not (frame["question"] != "").all():
            frame = frame.drop(columns="question")
        for covariate in () if contrast.factor == STEP else self.plan.covariates:
            known = [self.by_session[one].covariates.get(covariate) for one in frame["participant"]]
            frame[covariate] = pd.Series(known, index=frame.index, dtype="float64")
        return frame

    def _group(self, contrast: PlannedContrast, value: TrialValue) -> str:
        """The group of a value, as the estimator calls it; empty if it is in neither."""
        if contrast.factor == STEP:
            return {contrast.treatment: AFTER, contrast.control: BEFORE}.get(value.step, "")
        factors = self.by_session[value.session].factors
        return arm_of(contrast, factors if contrast.factor in factors else value.scope)

    def _worst(self, frame: pd.DataFrame, contrast: PlannedContrast, among: frozenset[str], name: str) -> pd.DataFrame:
        means = frame.groupby(["participant", name])["value"].mean().to_dict()
        both = (AFTER, BEFORE) if contrast.factor == STEP else (TREATMENT, CONTROL)
        cells = [
            (one.session, group, "", float(means.get((one.session, group), 0.0)))
            for one in self.sessions
            if one.session in among and one.assigned(contrast)
            for group in ((one.arm(contrast),) if contrast.factor in one.factors else both)
        ]
        return pd.DataFrame(cells, columns=["participant", name, "question", "value"])


def estimated(data: TrialData, hypothesis: Hypothesis, sessions: frozenset[str]) -> tuple[Difference, int]:
    """The effect among some sessions, and the number of participants in it; raises TrialError where there is none."""
    rows = data.rows(hypothesis, sessions)
    if hypothesis.contrast.factor == STEP:
        found = paired(rows)
        return found, found.participants["all"]
    used = rows.dropna()
    return difference(rows, covariates=data.plan.covariates), int(used["participant"].nunique())


def arm_of(contrast: PlannedContrast, values: Mapping[str, str]) -> str:
    """`treatment` or `control`, by the values of factors; empty if they have neither."""
    return {contrast.treatment: TREATMENT, contrast.control: CONTROL}.get(values.get(contrast.factor, ""), "")


def read_trial(database: Database, study: str, origin: str, plan: Plan) -> TrialData:
    """Read the sessions of a study of one origin, also those that a researcher excluded, and their outcomes. Raises
    StorageError if the study has no sessions of its own of that origin, TrialError for an outcome that this version of
    Parley does not record."""
    outcomes = tuple(dict.fromkeys(one.outcome for one in plan.hypotheses))
    people: dict[str, list[TrialSession]] = {}
    values: dict[str, list[TrialValue]] = {outcome: [] for outcome in outcomes}
    with database.connect() as connection:
        request = ExportRequest(study, NAME, origin, selection=SessionFilter(with_excluded=True))
        files = {one.table.name: one for one in plan_export(connection, request).files if isinstance(one, SessionRows)}
        if "scores" not in files and any(outcome.startswith("score.") for outcome in outcomes):
            raise TrialError("Scores of instruments are not among the tidy tables, so no outcome can be one.")
        for record in files["answers"].records(connection):
            found = _Record(record, files["answers"].layout)
            one = found.session(plan)
            waves = people.setdefault(record.state.enrolled.get("person") or one.session, [])
            for outcome in outcomes:
                values[outcome] += (_in_wave(value, waves) for value in found.values(outcome))
            waves.append(one)
    sessions = tuple(_joined(waves) for waves in people.values())
    if "seconds" in values:
        values["seconds"] = [TrialValue(one.session, "", {}, "", 0, one.seconds) for one in sessions if one.complete]
    return TrialData(plan, sessions, {outcome: tuple(found) for outcome, found in values.items()})


def _in_wave(value: TrialValue, earlier: Sequence[TrialSession]) -> TrialValue:
    """A value in the session of a person who has `earlier` ones, under the first."""
    order = value.order + len(earlier) * MOST_EVENTS
    return replace(value, session=earlier[0].session, order=order) if earlier else value


def _joined(waves: Sequence[TrialSession]) -> TrialSession:
    if len(waves) == 1:
        return waves[0]
    first, *_, last = waves
    return replace(
        last,
        session=first.session,
        factors={name: value for one in waves for name, value in one.factors.items()},
        reached=frozenset[tuple[str, str]]().union(*(one.reached for one in waves)),
        seconds=sum(one.seconds for one in waves),
        excluded=next((one.excluded for one in waves if one.excluded is not None), None),
        failed_attention=any(one.failed_attention for one in waves),
        started=any(one.started for one in waves),
        covariates={name: value for one in reversed(waves) for name, value in one.covariates.items()},
        adherence=fmean(one.adherence for one in waves),
    )


class _Record:
    def __init__(self, session: TidySession, layout: Layout) -> None:
        self.record, self.layout = session, layout
        self.places = {place.path: place for place in visited(session.study, session.state)}
        self.summary = next(rows("sessions", session, layout))
        self._tables: dict[str, list[Mapping[str, Any]]] = {}

    def session(self, plan: Plan) -> TrialSession:
        state, places = self.record.state, self.places.values()
        steps = {(STEP, place.node.id) for place in places if isinstance(place.node, Step)}
        names = {pair for place in places for pair in place.scope.values.items()}
        failed = state.outcome == "failed_attention" or checks_failed(self.record.study, state) > 0
        return TrialSession(
            session=self.summary["session"],
            factors=dict(state.factors),
            reached=frozenset(steps | names),
            outcome="" if goes_on(self.record.study, state) else state.outcome,
            seconds=self.summary["seconds"],
            excluded=self.record.seat["excluded"],
            failed_attention=failed,
            started=_started(state.events),
            covariates=dict(self._covariates(plan)),
            adherence=_adherence(state.events),
        )

    def values(self, outcome: str) -> Iterator[TrialValue]:
        if outcome == "seconds":  # of a person, once all their sessions are known
            return
        for row, value in _READ[outcome.partition(".")[0]](self, outcome.partition(".")[2]):
            place = self.places.get(row.get("path") or "")
            question = f"{row['dataset']}/{row['problem']}" if row.get("problem") else ""
            if value is not None and isfinite(value) and place is not None:
                known = (self.summary["session"], place.node.id, dict(place.scope.values), question)
                yield TrialValue(*known, row["seq"], float(value))

    def _table(self, name: str) -> list[Mapping[str, Any]]:
        if name not in self._tables:
            self._tables[name] = list(rows(name, self.record, self.layout))
        return self._tables[name]

    def _answers(self, *questions: str) -> Iterator[Mapping[str, Any]]:
        """The rows of answers to questions that count; attention checks and checks of understanding are no outcomes."""
        for row in self._table("answers"):
            check = row.get("step") == "check" or row.get("dataset") == ATTENTION
            if row["question"] in questions and row["status"] in GIVEN and not check:
                yield row

    def _covariates(self, plan: Plan) -> Iterator[tuple[str, float]]:
        for name in plan.covariates:
            given = (row["number"] for row in self._answers(name) if row.get("step") == "survey")
            if (first := next(given, None)) is not None:
                yield name, float(first)

    def correct(self, _: str) -> Iterator[_Found]:
        yield from ((row, row["correct"]) for row in self._answers("answer"))

    def number(self, _: str) -> Iterator[_Found]:
        yield from ((row, row["number"]) for row in self._answers("answer"))

    def error(self, _: str) -> Iterator[_Found]:
        """The distance of a numeric answer from the right one."""
        for row in self._answers("answer"):
            problem = self.places[row["path"]].scope.problem
            right = _as_number(problem.answer if problem else None)
            yield row, None if right is None or row["number"] is None else abs(row["number"] - right)

    def confidence(self, _: str) -> Iterator[_Found]:
        yield from ((row, row["number"]) for row in self._answers(*CONFIDENCES))

    def survey(self, name: str) -> Iterator[_Found]:
        yield from ((row, row["number"]) for row in self._answers(name) if row.get("step") == "survey")

    def rating(self, name: str) -> Iterator[_Found]:
        for row in self._table("ratings"):
            if row["rating"] == name and row["status"] in GIVEN:
                yield row, row["number"]

    def score(self, name: str) -> Iterator[_Found]:
        instrument, _, score = name.partition(".")
        for row in self._table("scores"):
            if (row["instrument"], row["score"]) == (instrument, score):
                yield row, row["value"]


# A row of a tidy table, and the outcome's value in it.
_Found = tuple[Mapping[str, Any], float | None]
_READ = {
    "correct": _Record.correct,
    "answer": _Record.number,
    "error": _Record.error,
    "confidence": _Record.confidence,
    "survey": _Record.survey,
    "rating": _Record.rating,
    "score": _Record.score,
}


def _adherence(events: Sequence[Event]) -> float:
    kept = [one.kept for one in verdicts(events) if one.shown and one.kept is not None]
    return fmean(kept) if kept else 1.0


def _started(events: Sequence[Event]) -> bool:
    """True if the participant sent a screen after the assignment; without factors, any screen."""
    assigned = max((event.seq for event in events if event.kind == "assigned"), default=0)
    return any(event.kind == "submitted" and event.seq > assigned for event in events)


def _as_number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
