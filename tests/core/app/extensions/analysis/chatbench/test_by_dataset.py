"""Accuracy by dataset: gaps between models and people are the paper's; the mean over questions is that of its
definition, and its interval covers what was planted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import erfc, sqrt
from statistics import fmean, variance

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extensions.analysis.chatbench.by_dataset import CODE, CORRECTED, PRINTED, TOTAL, of_people
from app.extensions.analysis.chatbench.published import TABLE
from app.extensions.analysis.intervals import codes
from app.extensions.analysis.public import gap_table, gaps, mean_gaps, model_gaps
from tests.fakes.figures import named
from tests.fakes.planted import DATASETS, Planted, drawn

MATHS = "elementary_mathematics"


def test_the_papers_table_gives_the_papers_gaps() -> None:
    table = gap_table(TABLE)
    means = mean_gaps(table).set_index(["method", "condition"])["mean_gap"]
    assert len(table) == 3 * 2 * 10
    for method, direct, first, paper in (("letter_only_few_shot", 0.20, 0.22, 0.21), ("free_text", 0.10, 0.11, 0.10)):
        assert round(means[method, "direct-to-AI"], 2) == direct
        assert round(means[method, "answer-first"], 2) == first
        assert means[method, "all"] == pytest.approx(paper, abs=0.006)
    models = model_gaps(TABLE).set_index("answer_type")["gap"]
    assert [round(100 * models[kind], 1) for kind in ("free_text", "user-AI.direct-to-AI", "user-AI.answer-first")] == [
        24.4, 8.8, 5.6,
    ]  # fmt: skip


def test_gaps_are_tested_by_z_and_without_an_error_there_is_no_interval() -> None:
    found = named(gaps(TABLE))
    one = found[f"chatbench.gap.{MATHS}.gpt-4o.free_text.direct-to-AI"]
    error = sqrt(0.01**2 + 0.02**2)
    assert one.value == pytest.approx(0.07, abs=1e-9)
    assert one.further["z"] == pytest.approx(0.07 / error, abs=1e-9)
    assert one.further["p"] == pytest.approx(erfc(0.07 / error / sqrt(2)), abs=1e-9)
    model = found["chatbench.model_gap.gpt-4o.llama-3_1-8b.user-AI.answer-first"]
    assert model.further["standard_error"] == pytest.approx(
        sqrt(sum(e**2 for e in (0.02, 0.02, 0.03, 0.04, 0.07, 0.07, 0.03, 0.04, 0.04, 0.04))) / 5, abs=1e-9
    )
    unsure = named(gaps(TABLE.assign(standard_error=np.nan)))
    assert {one.low for one in unsure.values()} == {None}
    assert all(one.why for one in unsure.values())
    alike = TABLE["standard_error"].mask((TABLE["dataset"] == MATHS) & (TABLE["answer_type"] == "free_text"), 0.0)
    some = named(gaps(TABLE.assign(standard_error=alike)))
    assert some[one.name].low is None, "where all answers are alike, their error is not nothing but unknown"
    assert some["chatbench.model_gap.gpt-4o.llama-3_1-8b.free_text"].low is None
    assert some["chatbench.model_gap.gpt-4o.llama-3_1-8b.user-alone"].low is not None


Row = tuple[int, int, int]
rows_of = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 1)),
    min_size=2, max_size=30, unique_by=lambda row: row[:2],
).filter(lambda rows: len({p for p, _, _ in rows}) > 1)  # fmt: skip
Z = 1.959964


def mean_by_hand(rows: list[Row]) -> float:
    by_question = defaultdict(list)
    for _, question, hit in rows:
        by_question[question].append(hit)
    return fmean(fmean(hits) for hits in by_question.values())


def left_out_by_hand(rows: list[Row], of: list[object]) -> float:
    """The jackknife as it is defined: the whole mean again without each cluster in turn."""
    names = sorted(set(of), key=str)
    means = [mean_by_hand([row for row, name in zip(rows, of, strict=True) if name != left]) for left in names]
    return (len(names) - 1) / len(names) * sum((mean - mean_by_hand(rows)) ** 2 for mean in means)


def arrays(rows: list[Row]):
    people, questions, hits = ([row[n] for row in rows] for n in range(3))
    return np.array(hits, float), codes(people), codes(questions)


@given(rows_of)
def test_the_corrected_variance_is_what_leaving_out_each_cluster_gives(rows: list[Row]) -> None:
    found = of_people(*arrays(rows))
    by_person = left_out_by_hand(rows, [row[0] for row in rows])
    expected = by_person
    if len({row[1] for row in rows}) > 1:
        by_question = left_out_by_hand(rows, [row[1] for row in rows])
        expected = max(by_person + by_question - left_out_by_hand(rows, [row[:2] for row in rows]), by_question)
    assert found.interval.value == pytest.approx(mean_by_hand(rows), abs=1e-9)
    assert found.further[CORRECTED] ** 2 == pytest.approx(expected, abs=1e-9)
    assert found.interval.low is not None
    assert found.interval.high is not None
    assert 0 <= found.interval.low <= found.interval.value + 1e-12
    assert found.interval.value - 1e-12 <= found.interval.high <= 1


@given(rows_of.filter(lambda rows: len({q for _, q, _ in rows}) > 1))
def test_the_papers_standard_errors_are_its_formulas(rows: list[Row]) -> None:
    by_question = defaultdict(list)
    for _, question, hit in rows:
        by_question[question].append(hit)
    shares = [fmean(hits) for hits in by_question.values()]
    own = [share * (1 - share) / len(hits) for share, hits in zip(shares, by_question.values(), strict=True)]
    found = of_people(*arrays(rows)).further
    assert found["questions"] == len(shares)
    printed = sqrt((fmean(map(sqrt, own)) + variance(shares)) / len(shares))
    assert found[PRINTED] == pytest.approx(printed, abs=1e-9)
    assert found[TOTAL] == pytest.approx(sqrt((fmean(own) + variance(shares)) / len(shares)), abs=1e-9)
    code = np.std(pd.Series(shares)) / np.sqrt(len(shares))  # analyze_results.py: group_by_question_and_summarize
    assert found[CODE] == pytest.approx(code, abs=1e-9)


def covered(planted: Planted, chance: np.random.Generator) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Each kind of interval of a study's accuracies, of which group it is, and whether it holds the truth."""
    data = drawn(planted, chance)
    data = data[data["dataset"].isin(DATASETS[1:4:2])]
    hits, people, questions = (data[name].to_numpy() for name in ("acc", "worker_id", "question_id"))
    for group, rows in data.groupby(["dataset", "model", "way"], observed=True).indices.items():
        found, truth = of_people(hits[rows], codes(people[rows]), codes(questions[rows])), planted.accuracy()[group]
        interval = found.interval
        assert interval.low is not None
        assert interval.high is not None
        yield CORRECTED, group, interval.low <= truth <= interval.high
        for kind in (PRINTED, CODE):
            yield kind, group, abs(interval.value - truth) <= Z * found.further[kind]


def test_the_corrected_interval_covers_what_was_planted_and_the_printed_one_is_too_wide(soak: bool) -> None:
    chance, held = np.random.default_rng(3), defaultdict[str, dict[tuple[str, ...], list[bool]]](dict)
    for _ in range(1_000 if soak else 50):
        for kind, group, holds in covered(Planted(), chance):
            held[kind].setdefault(group, []).append(holds)
    corrected, printed, code = ([fmean(some) for some in held[kind].values()] for kind in (CORRECTED, PRINTED, CODE))
    assert len(corrected) == 12
    assert min(corrected) >= (0.93 if soak else 0.86)
    assert 0.93 <= fmean(corrected) <= 0.975
    assert fmean(printed) > 0.98
    assert fmean(code) < fmean(corrected) - 0.015
