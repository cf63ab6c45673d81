"""Reliance on advice: equal to what is counted by hand, and what must hold of any answers."""

from __future__ import annotations

import pandas as pd
import pytest

from app.extensions.analysis.chatbench.reliance import CHOSEN, KEY
from app.extensions.analysis.public import reliance

RIGHT = "a"
HAND = (
    # own answer, the chatbot's, answer with it
    ("b", "a", "a"),  # wrong, right advice taken
    ("b", "a", "a"),
    ("b", "a", "b"),  # wrong, right advice not taken
    ("a", "b", "a"),  # right, wrong advice resisted
    ("a", "b", "b"),  # right, wrong advice taken
    ("a", "a", "a"),  # both right
    ("b", "b", "b"),  # both wrong
    ("c", "b", "d"),  # both wrong, and another wrong answer in the end
    ("a", None, "b"),  # no advice: left out
)
COUNTED = {
    "relative_ai": (2, 3),
    "relative_self": (1, 2),
    "appropriate": (3, 5),
    "over": (2, 4),
    "under": (1, 4),
    "agreement": (5, 8),
    "switch": (3, 6),
    "helpful": (2, 8),
    "harmful": (1, 8),
}
Triple = tuple[str, str | None, str]


def tables(triples: list[Triple], *, stated: bool, model: str = "m") -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    answers, talks = [], []
    for number, (own, advice, final) in enumerate(triples):
        key = (f"p{number}", "math", 0, model, "answer-first", "q")
        answers += [(*key, kind, chosen, float(chosen == RIGHT)) for kind, chosen in
                    (("user-alone", own), ("user-AI", final))]  # fmt: skip
        talks.append((*key, advice))
    asked = [("q", RIGHT)] if stated else []
    return (
        pd.DataFrame(answers, columns=[*KEY, "answer_type", CHOSEN, "acc"]),
        pd.DataFrame(talks, columns=[*KEY, "answer_letter"]).astype({"answer_letter": "object"}),
        pd.DataFrame(asked, columns=["question_id", "answer"]).astype("object"),
    )


@pytest.mark.parametrize("stated", [True, False])
def test_each_measure_is_what_is_counted_by_hand(stated: bool) -> None:
    findings = reliance(*tables(list(HAND), stated=stated))
    found = {one.name: one for finding in findings for one in finding.estimates}
    for measure, (share, of) in COUNTED.items():
        for model in ("all_models", "m"):
            assert found[f"chatbench.reliance.{measure}.{model}"].value == share / of
            assert found[f"chatbench.reliance.{measure}.{model}"].n == of
    # four of eight were right in the end, three alone, and four pieces of advice
    better = found["chatbench.complementary.m"]
    assert better.value == 4 / 8 - 4 / 8
    assert better.further == {"accuracy_alone": 3 / 8, "accuracy_advice": 4 / 8, "accuracy": 4 / 8}
