"""Question by question: is a model alone, or are people with it, more accurate?

A point is a question with a model, as in correlations.py: the accuracy of the model alone by a method, and that of
people with it, by condition. The plot has the points of free text (or else of the first method), a panel for each
condition; ChatBench's paper correlates the two (ACL 2025, section 4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from app.analysis.base import Tables, each
from app.analysis.chatbench.by_dataset import WITH_AI, alone_by_method
from app.analysis.chatbench.correlations import CEILING, points
from app.analysis.chatbench.preregistered_filter import ALONE, counted_of
from app.analysis.estimates import SHARE, Estimate, EstimateGroup, Finding, Scatter, ScatterPoint, estimate, slug
from app.analysis.intervals import codes, share_of

CODE = (
    'questions(counted(frame(database, study, "user_answers", origin), '
    'frame(database, study, "user_answers_filtered", origin)), frame(database, study, "ai_alone_answers", origin))'
)
METHOD = (
    "The share of points (a question with a model) at which people with the model are more accurate than the model "
    "alone. The 95 % interval is Wilson's for the effective number of independent points, because both models answer "
    "the same questions (cluster jackknife over questions)."
)


def questions(answers: pd.DataFrame, alone: pd.DataFrame) -> tuple[Finding, ...]:
    """The share of questions at which people with a model are more accurate than it is alone, and all points.

    `answers` are those that `counted` returns. Names: `chatbench.above_model.<method>.<condition>`; how often they are
    `equal`, and the number of `questions`, are in `further`. Empty without questions that both answered.
    """
    conditions = sorted(answers.loc[answers["answer_type"] == WITH_AI, "condition"].unique())
    methods = [method for method, _ in alone_by_method(alone)]
    found = {(method, condition): points(answers, alone, method, condition)
             for method in methods for condition in conditions}  # fmt: skip
    found = {of: rows for of, rows in found.items() if len(rows)}
    if not found:
        return ()
    drawn = CEILING if any(method == CEILING for method, _ in found) else next(iter(found))[0]
    marks = tuple(
        point for (method, condition), rows in found.items() if method == drawn for point in _points(rows, condition)
    )
    scatter = Scatter(f"accuracy of the model alone ({drawn})", "accuracy of people with it", (0, 1), marks)
    title = "Question by question: models alone against people with them"
    estimates = tuple(_estimate(*of, rows) for of, rows in found.items())
    note = f"The plot has a point for each question and model; models alone answered by {drawn}."
    finding = Finding(
        "chatbench.above_model",
        title,
        "points",
        SHARE,
        (0, 1),
        estimates,
        METHOD,
        CODE,
        note=note,
        columns=("condition",),
        scatter=scatter,
    )
    return (finding,)


def questions_of(tables: Tables) -> tuple[Finding, ...]:
    return questions(counted_of(tables), tables[ALONE])


def _points(rows: pd.DataFrame, condition: str) -> Iterator[ScatterPoint]:
    for row in each(rows):
        yield ScatterPoint(row.ai, row.with_ai, int(row.n), str(row.question_id), str(row.model), condition)


def _estimate(method: str, condition: str, rows: pd.DataFrame) -> Estimate:
    above = np.asarray(rows["with_ai"] > rows["ai"], dtype=np.float64)
    asked = codes(rows["question_id"])
    found = share_of(above, asked)
    found = replace(found, why=found.why.replace("participants", "questions"))
    name = f"chatbench.above_model.{slug(method)}.{slug(condition)}"
    groups = {"method": method, "condition": condition}
    group = EstimateGroup(name, f"{method}, {condition}", len(rows), 0, groups)
    further = {"equal": float((rows["with_ai"] == rows["ai"]).mean()), "questions": float(asked.max() + 1)}
    said = (
        f"People with the model ({condition}) were more accurate than the model alone ({method}) on {{}} of questions"
    )
    return estimate(group, found, said, SHARE, "points", further=further)
