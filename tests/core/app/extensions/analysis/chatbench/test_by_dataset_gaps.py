"""Gaps between models and people: those of the paper's own table, their tests, and of how many answers they are."""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np
import pytest

from app.extensions.analysis.chatbench.published import TABLE
from app.extensions.analysis.public import gap_table, gaps, mean_gaps, model_gaps
from tests.fakes.figures import named

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
