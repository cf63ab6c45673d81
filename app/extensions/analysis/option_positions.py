"""Position bias: how often participants choose the option at each place, where options are in random order.

Without bias each of k places is chosen equally often, whatever participants know of the options. The test is the
analysis of variance with repeated measures: of G participants each has k counts, and

    F = sum over places of G (mean of the counts - overall mean)^2 / (sum of squared residuals / (G - 1))

with k - 1 and (k - 1)(G - 1) degrees of freedom. It needs counts with equal variances and covariances (sphericity),
which they have where there is no bias, as all orders are equally likely (Huynh and Feldt 1970, JASA 65:1582).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd

from app.extensions.analysis.advice import TABLE
from app.extensions.analysis.base import AnalysisStep, analysis, call, table
from app.extensions.analysis.data_frames import SESSION
from app.extensions.analysis.estimates import NUMBER, Estimate, Finding, estimate, finding, share_estimate
from app.extensions.analysis.intervals import FEWEST, Codes, Interval, beyond_f, codes, number_of
from experiments.study.fields import ANSWER

COLUMNS = ("question", "status", "option_order", "chosen_position", "right_position", "correct")


def equality_test(places: Codes, people: Codes, options: int) -> tuple[float, float] | None:
    """F and p of the test that all places, numbered from 0, are chosen equally often; None if it is undefined."""
    count = number_of(people)
    table = np.zeros((count, options))
    np.add.at(table, (people, places), 1)
    away = table - table.mean(axis=1, keepdims=True)
    means = away.mean(axis=0)
    rest = float(np.sum((away - means) ** 2))
    if count < FEWEST or rest <= 0:
        return None
    f = count * (count - 1) * float(np.sum(means**2)) / rest
    return f, beyond_f(f, options - 1, (options - 1) * (count - 1))


def ordered_answers(answers: pd.DataFrame) -> Iterator[tuple[int, pd.DataFrame]]:
    kept = answers["option_order"].notna() & answers["chosen_position"].notna()
    rows = answers[kept & (answers["question"] == ANSWER.name) & (answers["status"] == "submitted")]
    sizes = rows["option_order"].map(lambda order: len(json.loads(order))).astype(int)
    yield from ((int(str(size)), own) for size, own in rows.groupby(sizes, sort=True))


def _by_place(name: str, said: str, column: str, size: int, rows: pd.DataFrame) -> Iterator[Estimate]:
    """For each place the share of `rows` with this place in `column`, or of those the share of right answers."""
    for place in range(1, size + 1):
        there = rows[column] == place
        own, hits = (rows, there) if column == "chosen_position" else (rows[there], rows[there]["correct"])
        if len(own):
            groups = {"options": str(size), "place": str(place)}
            known = (f"position.{name}.{size}.{place}", f"place {place} of {size}", groups, said.format(place, size))
            yield share_estimate(*known, hits, own[SESSION], counts="answers", further={"chance": 1 / size})


@analysis
def chosen_positions(answers: pd.DataFrame) -> Iterator[Finding]:
    for size, rows in ordered_answers(answers):
        shares = _by_place(
            "chosen", "The option at place {} of {} was chosen in {{}} of the answers", COLUMNS[3], size, rows
        )
        yield finding("position.chosen.{size}", shares, reference=1 / size, words={"size": size})


@analysis
def position_tests(answers: pd.DataFrame) -> Iterator[Finding]:
    found = []
    for size, rows in ordered_answers(answers):
        people = codes(rows[SESSION])
        tested = equality_test(rows["chosen_position"].to_numpy(dtype=np.int64) - 1, people, size)
        if tested is None:
            continue
        known = (f"position.test.{size}", f"{size} options", {"options": str(size)}, (len(rows), number_of(people)))
        said = f"In a test that all {size} places are chosen equally often, F was {{}}"
        f = Interval(tested[0], why="A test statistic.")
        found.append(estimate(*known, f, said, NUMBER, "answers", further={"p": tested[1]}))
    yield finding("position.test", found, axis=(0, max((one.value for one in found), default=1.0)))


@analysis
def right_by_position(answers: pd.DataFrame) -> Iterator[Finding]:
    for size, rows in ordered_answers(answers):
        said = "With the right option at place {} of {}, {{}} of the answers were right"
        shares = _by_place("right", said, "right_position", size, rows)
        yield finding("position.right.{size}", shares, words={"size": size})


_ANSWERS = table(TABLE, COLUMNS, "load(study, origin, database=database).answers")
PARTS: tuple[AnalysisStep, ...] = (
    AnalysisStep(call(chosen_positions, _ANSWERS)),
    AnalysisStep(call(position_tests, _ANSWERS)),
    AnalysisStep(call(right_by_position, _ANSWERS)),
)
