"""Accuracy, ratings and preference: equal to what is counted by hand from the same rows."""

from __future__ import annotations

import ast
import csv
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extensions.analysis.public import Estimate, Finding, accuracy, ranks, ratings, wins

ANSWER = ("worker_id", "model", "condition", "answer_type", "dataset", "question_id", "acc")
VOTE = ("participant", "model_a", "model_b", "model_c", "model_d", "winner")


def named(findings: tuple[Finding, ...]) -> Mapping[str, Estimate]:
    found = {estimate.name: estimate for finding in findings for estimate in finding.estimates}
    assert len(found) == sum(len(finding.estimates) for finding in findings)
    return found


def answers(*rows: tuple[object, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(ANSWER)).astype({"acc": "Int64"})


answer = st.tuples(
    st.sampled_from("abcde"), st.sampled_from(["m", "n"]), st.sampled_from(["answer-first", "direct-to-AI", None]),
    st.sampled_from(["user-alone", "user-AI"]), st.sampled_from(["maths", "attention_check"]),
    st.sampled_from(["q1", "q2", "q3"]), st.sampled_from([0, 1, None]),
)  # fmt: skip


@given(st.lists(answer, max_size=40, unique_by=lambda row: (row[0], row[3], row[5])))
def test_every_answer_that_counts_is_counted_once(rows: list[tuple[object, ...]]) -> None:
    counted = [row for row in rows if row[4] != "attention_check" and row[6] is not None]
    findings = {finding.name: finding for finding in accuracy(answers(*rows))}
    by_condition = findings["chatbench.accuracy_by_condition"].estimates if findings else ()
    assert sum(one.n for one in by_condition) == len(counted)
    right = sum(one.n * one.value for one in by_condition)
    assert right == pytest.approx(sum(int(str(row[6])) for row in counted))
    for one in by_condition:
        assert one.low is None or one.high is None or 0 <= one.low <= one.value <= one.high <= 1


def test_the_published_ratings_have_the_means_of_an_independent_count(shared: Path) -> None:
    path = shared / "mathconverse_part.csv"
    data = pd.read_csv(path, keep_default_na=False)
    by_model: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    sets: dict[tuple[str, str], dict[str, int]] = {}
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines(keepends=True)):
        by_model[row["model"]]["helpfulness"] += ast.literal_eval(row["helpfulness_ratings"])
        by_model[row["model"]]["correctness"] += ast.literal_eval(row["correctness_ratings"])
        if row["final_prefs"] != "MISSING":
            sets[row["uid"], row["interaction_set_idx"]] = ast.literal_eval(row["final_prefs"])
    found = named(ratings(data))
    for model, given_ in by_model.items():
        for scale, values in given_.items():
            one = found[f"mathconverse.mean.{scale}.{model}"]
            assert (one.value, one.n) == (pytest.approx(fmean(values), abs=1e-9), len(values))
        mathematical = [value for value in given_["correctness"] if value > 0]
        one = found[f"mathconverse.mean.correctness_without_0.{model}"]
        assert one.value == pytest.approx(fmean(mathematical), abs=1e-9)
        rank = named(ranks(data))[f"mathconverse.mean_rank.{model}"]
        assert (rank.value, rank.n) == (pytest.approx(fmean(one[model] for one in sets.values())), len(sets))


def votes(*rows: tuple[object, ...]) -> pd.DataFrame:
    return pd.DataFrame([(row[0], row[1], row[2], None, None, row[3]) for row in rows], columns=list(VOTE))


def test_win_rates_are_of_votes_with_a_winner_and_ties_are_reported() -> None:
    found = wins(
        votes(
            ("a", "x", "y", "model_a"), ("a", "y", "x", "model_b"), ("b", "x", "y", "model_b"), ("b", "x", "y", "tie")
        )
    )
    values = {name: (one.value, one.n, one.participants) for name, one in named(found).items()}
    assert values == {
        "arena.win_rate.x": (pytest.approx(2 / 3), 3, 2),
        "arena.win_rate.y": (pytest.approx(1 / 3), 3, 2),
        "arena.ties.equally_good": (0.25, 4, 2),
        "arena.ties.none_good": (0, 4, 2),
    }
    assert found[0].note == "1 of 4 votes are ties."
    assert found[0].reference == 0.5
