"""ChatBench's figures: equal to what is counted by hand from the same rows, and to the paper's from the paper's own."""

from __future__ import annotations

from statistics import correlation, fmean

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extensions.analysis.chatbench.accuracy import COUNTED_COLUMNS as COLUMNS
from app.extensions.analysis.chatbench.by_dataset import ALONE_COLUMNS
from app.extensions.analysis.chatbench.correlations import fit_of, r_of
from app.extensions.analysis.public import (
    accuracy_by_dataset,
    counted,
    filter_counts,
    transitions,
)  # fmt: skip
from tests.fakes.figures import named

MATHS, MORAL = "elementary_mathematics", "moral_scenarios"


def answers(*rows: tuple[object, ...]) -> pd.DataFrame:
    full = [(worker, model, "math", 0, *rest) for worker, model, *rest in rows]
    data = pd.DataFrame(
        full,
        columns=["worker_id", "model", "subject", "batch", "condition", "answer_type", "dataset", "question_id", "acc"],
    )
    return data[list(COLUMNS)].astype({"acc": "Int64"})


def alone(*rows: tuple[object, ...]) -> pd.DataFrame:
    """Rows of model, dataset, question, and of each method the count and the accuracy."""
    numbers = dict.fromkeys(ALONE_COLUMNS[3:], "float64")
    return pd.DataFrame(rows, columns=list(ALONE_COLUMNS)).astype(numbers)


@pytest.fixture
def small() -> pd.DataFrame:
    rows: list[tuple[object, ...]] = []
    for worker, before, after in (("a", 0, 1), ("b", 1, 1), ("c", 0, 0), ("d", 1, 0)):
        rows.append((worker, "m", "answer-first", "user-alone", MATHS, "q1", before))
        rows.append((worker, "m", "answer-first", "user-AI", MATHS, "q1", after))
    rows += [(worker, "m", "answer-first", "user-AI", MATHS, "q2", 1) for worker in "ab"]
    rows += [(worker, "m", "direct-to-AI", "user-AI", MATHS, "q1", acc) for worker, acc in (("e", 1), ("f", None))]
    return answers(*rows)


MODELS_ALONE = alone(
    ("m", MATHS, "q1", 50, 0.2, 50, 0.4, 50, 0.9), ("m", MATHS, "q2", 50, 0.6, 40, 0.8, None, None)
)  # fmt: skip


def test_accuracy_is_the_mean_over_questions_by_condition_and_pooled(small: pd.DataFrame) -> None:
    found = named(accuracy_by_dataset(counted(small), MODELS_ALONE))
    values = {name.removeprefix(f"chatbench.accuracy.{MATHS}.m."): (one.value, one.n, one.participants)
              for name, one in found.items()}  # fmt: skip
    assert values == {
        "letter_only_zero_shot": (pytest.approx(0.4, abs=1e-9), 100, 0),
        "letter_only_few_shot": (pytest.approx(0.6, abs=1e-9), 90, 0),
        "free_text": (0.9, 50, 0),
        "user-alone": (0.5, 4, 4),
        "user-AI": (pytest.approx((3 / 5 + 1) / 2, abs=1e-9), 7, 5),
        "user-AI.answer-first": (0.75, 6, 4),
        "user-AI.direct-to-AI": (1, 1, 1),
    }
    assert "participant" not in found[f"chatbench.accuracy.{MATHS}.m.free_text"].sentence


def test_wrong_answers_are_corrected_and_right_ones_lost(small: pd.DataFrame) -> None:
    found = named(transitions(counted(small)))
    for model in ("all_models", "m"):
        assert found[f"chatbench.transition.corrected.{model}"].value == 0.5
        assert found[f"chatbench.transition.lost.{model}"].n == 2


def test_the_filter_leaves_those_who_passed_their_first_assignment_and_one_answer() -> None:
    check = [(w, "m", "answer-first", "user-alone", "attention_check", "c", int(w != "b")) for w in "abc"]
    rows = [(w, "m", "answer-first", "user-AI", MATHS, q, 1) for w in "abc" for q in ("q1", "q2")]
    again = [
        ("a", "other", "answer-first", "user-AI", MATHS, "q3", 1),
        ("c", "m", "answer-first", "user-AI", MATHS, "q2", 0),
    ]
    data = answers(*check, *rows, *again)
    assert set(counted(data)["worker_id"]) == {"a", "c"}
    assert counted(data)["acc"].tolist() == [1] * 4
    assert len(counted(data, data[-2:])) == 2, "the release's own rows come first"
    found = named(filter_counts(data, data[-2:], MODELS_ALONE))
    assert (found["chatbench.count.user-AI"].value, found["chatbench.count.AI-alone"].value) == (2, 240)


columns = st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=4, max_size=20).filter(
    lambda rows: (
        all(len(set(column)) > 1 for column in zip(*rows, strict=True))
        and abs(correlation([r[1] for r in rows], [r[2] for r in rows])) < 0.99
    )
)


@given(columns)
def test_correlations_and_the_linear_models_r_are_those_of_plain_arithmetic(rows: list[tuple[int, int, int]]) -> None:
    data, once = np.array(rows, float), np.ones((1, len(rows)))
    y, a, b = ([float(row[n]) for row in rows] for n in range(3))
    assert r_of(data[:, :2], once)[0] == pytest.approx(correlation(y, a), abs=1e-9)
    design = np.column_stack([np.ones(len(rows)), a, b])
    fitted = design @ np.linalg.lstsq(design, np.array(y), rcond=None)[0]
    left = sum((one - other) ** 2 for one, other in zip(y, fitted, strict=True))
    whole = sum((one - fmean(y)) ** 2 for one in y)
    assert fit_of(data, once)[0] ** 2 == pytest.approx(1 - left / whole, abs=1e-9)
    twice = np.concatenate([data, data[:1]])
    assert r_of(data[:, :2], once + np.eye(len(rows))[:1])[0] == pytest.approx(
        r_of(twice[:, :2], np.ones((1, len(twice))))[0], abs=1e-9
    )
