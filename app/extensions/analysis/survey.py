"""The answers to survey questions: shares of options, means of numbers, numbers of free texts, and checks passed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from app.extensions.analysis.base import AnalysisStep, ComparedArm, by_arm, call, compared_factors, table
from app.extensions.analysis.data_frames import SESSION, survey_frame
from app.extensions.analysis.estimates import (
    COUNT,
    NO_INTERVAL,
    Estimate,
    Finding,
    estimate,
    finding,
    mean_estimate,
    share_estimate,
    slug,
)
from app.extensions.analysis.intervals import NO_SCALE, Interval
from app.rendering import markdown
from experiments.study.fields import Checkbox, ChoiceField, Field, Number, Scale, Slider
from experiments.study.instrument import ItemOnPoints

COLUMNS = ("path", "question", "field", "value", "arms")
# How a question is summarised; the second part of its figures' names.
PASSED_CHECK, CHOICE, AVERAGED, COUNTED = "passed", "share", "mean", "answers"
TICKED = {"ticked": "Ticked"}
# The most characters of a question or an option in a report.
LONGEST = 160


@dataclass(frozen=True, slots=True)
class Question:
    """`kind` says how its answers, `rows`, are summarised; `others` counts answers to another form than the newest."""

    name: str
    path: str
    field: Field | None
    kind: str
    rows: pd.DataFrame
    others: int

    @property
    def axis(self) -> tuple[float, float] | None:
        return _scale(self.field) if self.kind == AVERAGED else None

    @property
    def title(self) -> str:
        return _short(self.field.text if self.field else "") or self.name

    @property
    def answered(self) -> pd.DataFrame:
        """The rows with an answer; a box that was not ticked is one."""
        return self.rows if isinstance(self.field, Checkbox) else self.rows[self.rows["value"].notna()]

    @property
    def options(self) -> Mapping[str, str]:
        fields = {id(field): field for field in reversed(self.rows["field"].tolist())}.values()
        found: dict[str, str] = {}
        for field in fields:
            for key, label in (TICKED if isinstance(field, Checkbox) else field.options).items():
                found.setdefault(key, _short(label) or key)
        return found


def summary_kind(field: Field | None) -> str:
    """The kind of a question's summary; without a field, a check's. Answers without options or numbers are counted."""
    match field:
        case None:
            return PASSED_CHECK
        case Number() | Slider() | ItemOnPoints() | Scale(numeric=True):
            return AVERAGED
        case ChoiceField() | Checkbox():
            return CHOICE
        case _:
            return COUNTED


def survey_results(frame: pd.DataFrame) -> tuple[Finding, ...]:
    """The answers to each question, overall and by condition. A name that several steps ask begins with the path of the
    step."""
    asked = tuple(_questions(frame))
    figures = [[one for one in asked if one.kind == PASSED_CHECK]]
    middle = [one for one in asked if one.kind in (CHOICE, AVERAGED)]
    figures += [list(some) for _, some in groupby(middle, key=_figure)]
    figures += [[one for one in asked if one.kind == COUNTED]]
    return tuple(_finding(some) for some in figures if some)


def _questions(frame: pd.DataFrame) -> Iterator[Question]:
    places = list(dict.fromkeys(zip(frame["path"], frame["question"], strict=True)))
    found = {place: frame[(frame["path"] == place[0]) & (frame["question"] == place[1])] for place in places}
    fields = {place: rows["field"].iloc[-1] for place, rows in found.items()}
    often = Counter((fields[place] is None, _own_name(*place, fields[place])) for place in places)
    for (path, name), rows in found.items():
        field = fields[path, name]
        own = _own_name(path, name, field)
        if often[field is None, own] > 1:
            own = "_".join([*path.replace("[*]", "").split("/"), *([own] if field else [])])
        alike = rows[[_form(one) == _form(field) for one in rows["field"]]]
        yield Question(slug(own), path, field, summary_kind(field), alike, len(rows) - len(alike))


def _own_name(path: str, name: str, field: Field | None) -> str:
    """A question's label where it is the only one of its name; a check's is the id of its step."""
    return name if field else path.rpartition("/")[2]


def _form(field: Field | None) -> tuple[str, tuple[float, float] | None]:
    """The key under which answers are combined: the kind of summary, and the scale of points."""
    kind = summary_kind(field)
    return kind, None if kind != AVERAGED or isinstance(field, Number) else _scale(field)


def _scale(field: Field | None) -> tuple[float, float] | None:
    """The ends of a question's scale; None if it has not both."""
    if isinstance(field, ChoiceField):
        points = [int(key) for key in field.options]
        return min(points), max(points)
    low, high = getattr(field, "minimum", None), getattr(field, "maximum", None)
    return None if low is None or high is None else (low, high)


def _figure(question: Question) -> tuple[Any, ...]:
    """The key of a question's figure: numbers on one scale in one survey share one; others stand alone."""
    heading = getattr(question.field, "matrix", "")
    return (question.path, question.axis, heading) if question.axis else (question.name,)


def _finding(questions: Sequence[Question]) -> Finding:
    first, kind = questions[0], questions[0].kind
    labels = _distinct({one.name: one.title for one in questions})
    estimates = tuple(one for question in questions for one in _estimates(question, labels[question.name]))
    name = f"survey.{kind}" if kind in (PASSED_CHECK, COUNTED) else f"survey.{kind}.{first.name}"
    arms = dict.fromkeys(factor for one in questions for factor in compared_factors(one.answered))
    return finding(
        f"survey.{kind}", estimates, name=name, words={"title": _title(questions)}, axis=_axis(first, estimates),
        note=_note(questions), columns=tuple(arms),
    )  # fmt: skip


def _distinct(labels: Mapping[str, str]) -> dict[str, str]:
    often = Counter(labels.values())
    return {name: label if often[label] == 1 else f"{label} ({name})" for name, label in labels.items()}


def _title(questions: Sequence[Question]) -> str:
    first = questions[0]
    if first.kind in (PASSED_CHECK, COUNTED):
        return "Checks passed" if first.kind == PASSED_CHECK else "Free texts"
    heading = _short(getattr(first.field, "matrix", ""))
    if len(questions) == 1:
        return f"{heading} {first.title}".strip()
    return heading or f"Means of the questions at {first.path}"


def _axis(question: Question, estimates: Sequence[Estimate]) -> tuple[float, float]:
    """The scale of the question; of numbers without one, the range of the estimates."""
    if question.kind in (PASSED_CHECK, CHOICE):
        return 0, 1
    if question.axis:
        return question.axis
    reach = [value for one in estimates for value in (one.low, one.value, one.high) if value is not None]
    low, high = (min(reach), max(reach)) if reach else (0, 1)
    low = 0 if question.kind == COUNTED else low
    return (low, high) if low < high else (low - 1, high + 1)


def _note(questions: Sequence[Question]) -> str:
    silent = [
        f"{one.name} {len(one.rows) - n:,} of {len(one.rows):,}"
        for one in questions
        if (n := len(one.answered)) < len(one.rows)
    ]
    others = [f"{one.name} {one.others:,}" for one in questions if one.others]
    notes = [f"Left unanswered: {'; '.join(silent)}."] if silent else []
    notes += [f"Answers to another form of the question, in another version: {'; '.join(others)}."] if others else []
    return " ".join(notes)


def _estimates(question: Question, label: str) -> Iterator[Estimate]:
    rows = question.answered
    if rows.empty:
        return
    if question.kind == CHOICE:
        for option, text in _distinct(question.options).items():
            yield from (_share(question, of, arm, option, text) for arm, of in by_arm(rows))
        return
    yield from (_summary(question, of, arm, label) for arm, of in by_arm(rows))


def _share(question: Question, rows: pd.DataFrame, arm: ComparedArm, option: str, label: str) -> Estimate:
    hits = [_chosen(given, option) for given in rows["value"]]
    said = "ticked it" if isinstance(question.field, Checkbox) else f'chose "{label}"'.replace("{}", "…")
    known = _figure_of(question, arm, {"option": label}, slug(option))
    return share_estimate(*known, f"{_about(question, arm)}: {{}} {said}", hits, rows[SESSION], counts="answers")


def _chosen(given: Any, option: str) -> bool:
    """True if an answer has an option: one of several, the only one, or the tick of a box."""
    if isinstance(given, list):
        return option in given
    return given == option or (given is True and option in TICKED)


def _summary(question: Question, rows: pd.DataFrame, arm: ComparedArm, label: str) -> Estimate:
    known, about, people = _figure_of(question, arm, {"question": label}), _about(question, arm), rows[SESSION]
    if question.kind == COUNTED:
        size, found = (len(rows), people.nunique()), Interval(float(len(rows)), why=NO_INTERVAL)
        return estimate(*known, size, found, f"{about}: the number of free texts was {{}}", COUNT, "answers")
    values = rows["value"].to_numpy("float64")
    if question.kind == PASSED_CHECK:
        return share_estimate(*known, f"Check {about}: {{}} passed", values, people, counts="answers")
    sd = {"sd": float(np.std(values, ddof=1))} if values.size > 1 else {}
    said = f"{about}: the mean was {{}}" + (f", with a standard deviation of {sd['sd']:.2f}" if sd else "")
    scale = question.axis or NO_SCALE
    return mean_estimate(*known, said, values, people, counts="answers", scale=scale, further=sd)


def _figure_of(
    question: Question, arm: ComparedArm, own: Mapping[str, str], *parts: str
) -> tuple[str, str, Mapping[str, str]]:
    name = ".".join(["survey", question.kind, question.name, *parts, *map(slug, arm.value)])
    (label,) = own.values()
    return name, f"{label} ({arm.label})" if arm.value else label, {**own, **arm.groups}


def _about(question: Question, arm: ComparedArm) -> str:
    """The question for a sentence, without what would stand for the value."""
    return (f"{question.title} ({arm.label})" if arm.value else question.title).replace("{}", "…")


def _short(text: str) -> str:
    """A text in one line without its Markdown, cut if it is long."""
    line = " ".join(Markup(markdown.line(text)).striptags().split())  # noqa: S704  (it becomes plain text)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


_ANSWERS = table(survey_frame, COLUMNS)
PARTS: tuple[AnalysisStep, ...] = (AnalysisStep(call(survey_results, _ANSWERS), quick=True),)
