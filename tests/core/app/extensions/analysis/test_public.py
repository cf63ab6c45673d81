"""Accuracy, ratings and preference: equal to what is counted by hand from the same rows."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extensions.analysis.public import accuracy, wins
from storage.errors import StorageError
from tests.fakes.figures import named

ANSWER = ("worker_id", "model", "condition", "answer_type", "dataset", "question_id", "acc")
VOTE = ("participant", "model_a", "model_b", "model_c", "model_d", "winner")


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


def test_a_database_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    file = tmp_path / "nope.db"
    with pytest.raises(StorageError, match=f"There is no database {re.escape(str(file))}.*open_database"):
        import_module("parley_studies.analysis").open_database(f"sqlite:///{file}")
    assert not file.exists()
