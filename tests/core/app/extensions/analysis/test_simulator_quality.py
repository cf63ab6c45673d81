"""How well simulated users do: every measure against values worked out by hand."""

from __future__ import annotations

import json
from math import exp, log, sqrt

import pandas as pd
import pytest

from app.extensions.analysis.simulator_quality import ALL, SimulationData, fit, quality, text_scores


def answers(rows: list[tuple[str, str, int, str]], answer_type: str = "user-AI") -> pd.DataFrame:
    """Rows of a question, a model, whether it was right, and a session."""
    found = pd.DataFrame(rows, columns=["question_id", "model", "acc", "_session"])
    return found.assign(answer_type=answer_type, acc=found["acc"].astype("Int64"))


def talks(rows: list[tuple[str, str, str, str]]) -> pd.DataFrame:
    found = pd.DataFrame(rows, columns=["question_id", "model", "said", "_session"])
    history = [
        json.dumps([{"role": "You", "content": text}, {"role": "Bot", "content": "Hm."}]) for text in found["said"]
    ]
    return found.assign(chat_history=history)


def test_the_fit_is_pearsons_correlation_and_the_mean_absolute_error() -> None:
    people = pd.Series({"a": 0.0, "b": 0.5, "c": 1.0, "only": 1.0})
    others = pd.Series({"a": 0.2, "b": 0.2, "c": 0.8, "other": 0.0})
    found = fit(people, others)
    assert found.questions == 3
    assert found.r == pytest.approx(0.3 / sqrt(0.5 * 0.24))
    assert found.mae == pytest.approx((0.2 + 0.3 + 0.2) / 3)


def test_bleu_and_rouge_are_those_of_their_definitions() -> None:
    bleu, rouge = text_scores()
    simulated, person = "the cat sat on the mat", "the cat sat on a mat"
    precisions = (5 / 6, 3 / 5, 2 / 4, 1 / 3)
    assert bleu(simulated, person) == pytest.approx(exp(sum(map(log, precisions)) / 4))
    assert rouge(simulated, person) == pytest.approx(2 * (5 / 6) * (5 / 6) / (5 / 6 + 5 / 6))
    assert bleu("the cat", "the cat sat on") == pytest.approx(exp(1 - 4 / 2)), "brevity is punished"
    assert rouge("the cat", "the cat sat on") == pytest.approx(2 * 1 * 0.5 / 1.5)


def test_each_user_is_told_by_model_and_over_all() -> None:
    people = SimulationData(
        answers([(q, m, acc, f"{q}{m}{n}") for m in "mn" for q, acc in (("q", 1), ("r", 0)) for n in range(2)]),
        talks([("q", "m", "what is it", "1"), ("few", "m", "what", "2")]),
    )
    simulated = SimulationData(
        answers([("q", "m", 1, "s"), ("r", "m", 0, "s"), ("q", "o", 0, "t")]),
        talks([("q", "m", "what is it", "s"), ("few", "m", "what", "s")]),
    )
    found = {(one.who, one.model): one for one in quality(people, simulated, {"s": "two_step (x)", "t": "random"}, 2)}
    assert set(found) == {("two_step (x)", "m"), ("two_step (x)", ALL), ("random", ALL)}
    mine = found["two_step (x)", "m"]
    assert (mine.answers, mine.fit.questions) == (2, 2)
    assert (mine.fit.r, mine.fit.mae) == (pytest.approx(1), 0)
    assert mine.alike is not None
    assert (mine.alike.questions, mine.alike.pairs) == (1, 1), "too few people answered the other question"
    assert mine.alike.bleu == pytest.approx(1)
    assert found["random", ALL].fit.mae == 1
