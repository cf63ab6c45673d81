"""Adherence, dose, model versions and rehearsals by arm, against values computed by hand, by pandas and by SciPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from app.extensions.analysis.data_frames import SESSION
from app.extensions.analysis.fidelity import COLUMNS, adherence, dose, model_versions, rank_test, worst_conversations
from experiments.views.fidelity import Verdict
from storage.log.folded_sessions import FoldedSession
from storage.registers.origins import Origin
from tests.fakes.driven import ABOUT, Driven, small
from tests.fakes.figures import named

DAY_US = 86_400_000_000
TURNS = [2, 5, 4, 3, 1, 6, 2, 2]


def verdict(role: str, kept: bool | None, *, shown: bool = True) -> Verdict:
    condition = (("role", role),)
    return Verdict(3, "chat", 1, "", condition, "asks", "question@1", "m", "m-1", shown, kept, value=kept)


def conversations(kept: Mapping[str, Sequence[Sequence[bool | None]]], version: str = "m-1") -> pd.DataFrame:
    """A conversation of each participant, by arm: whether each of its replies kept the rule."""
    rows = [
        (
            "chat", {"role": role}, float(TURNS[n % 8]), 10.0, 50.0, np.nan, (("m", version, n * DAY_US),) * len(own),
            tuple(verdict(role, one) for one in own), f"{role}{n}",
        )
        for role, people in kept.items()
        for n, own in enumerate(people)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=[*COLUMNS, SESSION])


def test_adherence_is_of_the_verdicts_on_replies_that_were_read_and_clustered_by_participant() -> None:
    frame = conversations({"tutor": [[True, True], [True, False], [None, True]], "teller": [[False, False], [True]]})
    frame.at[0, "verdicts"] = (*frame.at[0, "verdicts"], verdict("tutor", False, shown=False))
    found = named(adherence(frame))
    tutor = found["fidelity.adherence.asks.role.tutor"]
    assert (tutor.value, tutor.n, tutor.participants) == (4 / 5, 5, 3)
    assert (found["fidelity.adherence.asks"].n, found["fidelity.adherence.asks.role.teller"].value) == (8, 1 / 3)
    alike = named(adherence(conversations({"tutor": [[True] * 4, [False] * 4] * 5})))["fidelity.adherence.asks"]
    apart = named(adherence(conversations({"tutor": [[True], [False]] * 5})))["fidelity.adherence.asks"]
    assert (alike.n, apart.n) == (40, 10)
    assert (alike.low, alike.high) == pytest.approx((apart.low, apart.high))  # replies alike are as one


def test_dose_has_the_mean_of_conversations_with_the_interval_of_t() -> None:
    found = named(dose(conversations({"tutor": [[True]] * 8, "teller": [[True]] * 2})))
    turns, known = found["fidelity.dose.turns.role.tutor"], pd.Series(TURNS)
    assert turns.value == known.mean()
    assert (turns.low, turns.high) == pytest.approx(stats.t.interval(0.95, 7, known.mean(), known.sem()))
    assert found["fidelity.dose.words_read"].value == 50
    assert "fidelity.dose.minutes" not in found


def test_each_version_of_a_model_has_its_replies_by_arm_with_first_and_last_use() -> None:
    old = conversations({"tutor": [[True, True]] * 3})
    new = conversations({"tutor": [[True]], "teller": [[True]] * 2}, version="m-2").assign(_session=["x", "y", "z"])
    found = named(model_versions(pd.concat([old, new], ignore_index=True)))
    assert {name: (one.value, one.groups["first"], one.groups["last"]) for name, one in found.items()} == {
        "fidelity.replies.m.m-1.tutor": (6, "1970-01-01", "1970-01-03"),
        "fidelity.replies.m.m-2.tutor": (1, "1970-01-01", "1970-01-01"),
        "fidelity.replies.m.m-2.teller": (2, "1970-01-01", "1970-01-02"),
    }


@pytest.mark.nightly
@pytest.mark.parametrize("share", [0.6, 0.9])
def test_the_true_adherence_is_in_its_interval_in_95_of_100_studies(share: float) -> None:
    """Participants differ (beta-binomial), and have one to six replies each."""
    chance, runs = np.random.default_rng(53), 400
    missed = 0
    for _ in range(runs):
        rates, sizes = chance.beta(4 * share, 4 * (1 - share), 40), chance.integers(1, 7, 40)
        kept = [list(chance.random(size) < rate) for rate, size in zip(rates, sizes, strict=True)]
        one = named(adherence(conversations({"tutor": kept})))["fidelity.adherence.asks"]
        assert one.low is not None
        assert one.high is not None
        missed += not one.low <= share <= one.high
    assert missed / runs <= 0.05 + 1.65 * (0.05 * 0.95 / runs) ** 0.5


def test_two_arms_are_compared_by_the_test_of_kruskal_and_wallis() -> None:
    chance = np.random.default_rng(54)
    for size in (5, 40):
        for values in (chance.normal(size=2 * size), chance.binomial(3, 0.8, 2 * size) / 3):
            first, second = values[:size], values[size:] + chance.choice([0, 0.3])
            assert rank_test(first, second) == pytest.approx(stats.kruskal(first, second).pvalue, rel=1e-9)
    assert rank_test(np.ones(5), np.ones(7)) == 1


def test_only_conversations_that_broke_a_rule_are_among_the_worst() -> None:
    loop = {"each": "item", "of": "pool", "flow": [{"step": "chat", "model": "m"}]}
    study = small(loop, problems=[ABOUT], models=["m"], fidelity=[{"name": "asks", "must": "question"}])

    def session(number: int, *replies: str) -> FoldedSession:
        driven = Driven(study)
        for text in replies:
            driven.do("say", text="Hi").hear(text=text)
        return FoldedSession(str(number), number, Origin.REHEARSAL, study, driven.state)

    found = worst_conversations([session(1, "Why?"), session(2, "Why?", "So."), session(3), session(4, "So.")])
    assert [(one["session"], one["kept"]) for one in found] == [(4, 0), (2, 0.5)]
