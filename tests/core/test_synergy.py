"""Synergy: its figures from draws by hand, the answers that it rests on, and what cannot be told."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pandas as pd
import pytest

from app.analysis.synergy.answers import FEWEST, coded
from app.analysis.synergy.figures import accuracies, credible, synergy_figures
from app.analysis.synergy.posterior import Posterior
from app.errors import TrialError


def posterior(mu: list[list[float]], ability: list[list[float]], difficulty: list[list[float]]) -> Posterior:
    """Draws that all have the same people and questions."""
    count = len(mu)
    people, questions = np.tile(ability, (count, 1, 1)), np.tile(difficulty, (count, 1, 1))
    sds, correlation = np.tile([1.0, 0.5], (count, 1)), np.full(count, 0.25)
    return Posterior(np.asarray(mu, float), people, questions, sds, correlation, 0, 1.0, 999.0)


def test_synergy_by_hand() -> None:
    """Two people and two questions; logistic(log(a)) is a/(1 + a), so log 3 is 3/4 and -log 3 is 1/4.

    Alone theta is 0 and log 3, beta is 0 and log 3: logits 0, -log 3, log 3 and 0, a mean of 1/2. With the model kappa
    is 0 for both, gamma is 0 and -log 3, and mu is log 3: logits log 3 and log 9 for each person, a mean of
    (3/4 + 9/10)/2.
    """
    three = log(3)
    shape = [[0, 0], [three, 0]], [[0, 0], [three, -three]]
    one = posterior([[0.0, three]], *shape)
    assert accuracies(one)[0] == pytest.approx([0.5, 0.825])
    rows = pd.DataFrame({
        "participant": [0, 0, 1, 1], "question": ["a", "b", "a", "b"], "correct": [1, 0, 1, 1],
        "model": [None, None, "m", "m"],
    })  # fmt: skip
    answers = coded(pd.concat([rows.assign(participant=n) for n in range(FEWEST)]))
    found = synergy_figures(answers, posterior([[0.0, three], [0.0, three]], *shape))
    (model,) = found.models
    assert (model.synergy.value, model.synergy.low, model.synergy.high) == pytest.approx((0.325, 0.325, 0.325))
    assert (model.above_zero, model.observed, model.answers, found.alone) == (1.0, 0.5, 2 * FEWEST, 2 * FEWEST)
    assert (found.correlation.value, found.sd_own.value, found.sd_collaborative.value) == (0.25, 1.0, 0.5)


def test_an_interval_has_equal_tails() -> None:
    found = credible(np.arange(1001) / 1000)
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.025, 0.975))


def test_chains_that_did_not_mix_are_told() -> None:
    rows = people(FEWEST)
    answers = coded(rows)
    well = posterior([[0.0, 0.0]], [[0, 0]], [[0, 0]])
    assert synergy_figures(answers, well).doubts == ()
    badly = replace(well, divergences=3, worst_r_hat=1.2, fewest_effective=float("nan"))
    assert [text.split()[0] for text in synergy_figures(answers, badly).doubts] == ["3", "R-hat", "nan"]


def people(count: int) -> pd.DataFrame:
    """People who answer a question alone, wrongly, and another with a model, right."""
    each = [
        {"participant": f"p{n}", "question": f"q{helped}", "correct": float(helped), "model": "m" if helped else None}
        for n in range(count)
        for helped in (False, True)
    ]
    return pd.DataFrame(each)


def test_what_cannot_be_told_is_refused() -> None:
    with pytest.raises(TrialError, match=f"{FEWEST - 1} participants"):
        coded(people(FEWEST - 1))
    alone_or_helped = people(3 * FEWEST).iloc[::3]
    assert alone_or_helped["model"].notna().sum() == FEWEST
    with pytest.raises(TrialError, match="0 participants"):
        coded(alone_or_helped)
    with pytest.raises(TrialError, match="All answers"):
        coded(people(FEWEST).assign(correct=1.0))


def test_answers_without_a_key_do_not_count() -> None:
    rows = people(FEWEST)
    more = coded(pd.concat([rows, rows.head(4).assign(correct=None, question="q9")]))
    assert (more.correct.size, more.people, more.questions, more.models) == (2 * FEWEST, FEWEST, 2, ("m",))
    assert list(more.model) == [0, 1] * FEWEST
