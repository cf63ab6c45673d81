"""The arena's strengths and rates: planted ones are found, small cases are those of a formula, labels do not matter."""

from __future__ import annotations

from itertools import permutations
from math import log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extensions.analysis.arena import compared, joined
from app.extensions.analysis.public import bradley_terry, strengths
from tests.fakes.figures import named

COLUMNS = ["participant", "model_a", "model_b", "model_c", "model_d", "winner"]


def votes(*rows: tuple[object, ...]) -> pd.DataFrame:
    """Votes as participant, two to four models and the winner: a to d, or a tie."""
    wins = {slot: f"model_{slot}" for slot in "abcd"}
    full = [(row[0], *row[1:-1], *[None] * (6 - len(row)), wins.get(str(row[-1]), row[-1])) for row in rows]
    return pd.DataFrame(full, columns=COLUMNS)


def test_planted_strengths_are_found() -> None:
    planted = np.linspace(-2, 2, 9)
    games = np.random.default_rng(3).integers(0, 50, size=(9, 9)) * 1.0
    np.fill_diagonal(games, 0)
    games += games.T
    wins = games / (1 + np.exp(planted[None, :] - planted[:, None]))
    assert strengths(wins) == pytest.approx(planted, abs=1e-9)


tables = st.integers(2, 5).flatmap(
    lambda size: st.lists(
        st.lists(st.sampled_from([0, 0.5, 1, 2, 7]), min_size=size, max_size=size), min_size=size, max_size=size
    )
)


@given(tables)
def test_models_are_joined_if_each_beats_each_itself_or_over_others(rows: list[list[float]]) -> None:
    wins = np.array(rows)
    np.fill_diagonal(wins, 0)
    size = len(wins)
    reach = {(a, b) for a, b in permutations(range(size), 2) if wins[a, b] > 0}
    for _ in range(size):
        reach |= {(a, c) for a, b in reach for d, c in reach if b == d}
    parts = {frozenset(b for b in range(size) if a == b or {(a, b), (b, a)} <= reach) for a in range(size)}
    chosen = frozenset(np.flatnonzero(joined(wins)).tolist())
    assert chosen in parts
    assert len(chosen) == max(map(len, parts))
    assert np.isnan(strengths(wins)).tolist() == [len(chosen) < 2 or model not in chosen for model in range(size)]


MIXED = votes(
    ("p", "x", "y", "a"), ("p", "y", "x", "tie"), ("q", "x", "y", "z", "c"), ("q", "x", "x", "a"),
    ("r", "y", "z", "x", "tie (bothbad)"), ("r", "x", "y", "z", "w", "a"), ("p", "w", "x", "a"), ("q", "y", "w", "a"),
)  # fmt: skip


def test_the_strengths_are_those_of_the_matrix_and_elo_is_another_scale_of_them() -> None:
    found = named(bradley_terry(MIXED))
    wins = np.zeros((4, 4))
    for one, other, won in compared(MIXED)[["one", "other", "won"]].itertuples(index=False):
        at = "wxyz".index(one), "wxyz".index(other)
        wins[at] += won
        wins[at[::-1]] += 1 - won
    values = strengths(wins)
    for model, value in zip("wxyz", values, strict=True):
        one, elo = found[f"arena.bradley_terry.{model}"], found[f"arena.elo.{model}"]
        assert one.value == pytest.approx(value)
        assert elo.value == pytest.approx(1000 + 400 * value / log(10))
    assert (found["arena.elo.x"].n, found["arena.elo.x"].participants) == (6, 3)
    assert sum(one.value for name, one in found.items() if "elo" in name) == pytest.approx(4000)


def many(seed: int, models: str = "wxyz", people: int = 40) -> pd.DataFrame:
    """Votes of people, the later a model in the alphabet the stronger by 0.7."""
    chance = np.random.default_rng(seed)
    rows = []
    for _ in range(600):
        one, other = chance.choice(len(models), 2, replace=False)
        odds = 1 / (1 + np.exp(0.7 * (other - one)))
        rows.append((int(chance.integers(people)), models[one], models[other], "a" if chance.random() < odds else "b"))
    return votes(*rows)


def test_intervals_hold_planted_strengths_and_the_same_seed_gives_the_same() -> None:
    found = named(bradley_terry(many(1)))
    for place, model in enumerate("wxyz"):
        one = found[f"arena.bradley_terry.{model}"]
        assert one.low is not None
        assert one.high is not None
        assert one.low < 0.7 * (place - 1.5) < one.high
        assert one.low < one.value < one.high
        assert one.high - one.low < 0.8
    assert found == named(bradley_terry(many(1)))


def test_a_model_that_never_lost_is_left_out_and_it_is_said() -> None:
    rows = [
        ("p", "x", "y", "a"),
        ("q", "x", "y", "b"),
        ("q", "best", "x", "a"),
        ("p", "worst", "y", "b"),
        ("p", "v", "w", "tie"),
    ]
    first, second = bradley_terry(votes(*rows, ("q", "x", "y", "b")))
    assert [one.groups["model"] for one in first.estimates] == ["y", "x"]
    assert first.estimates[0].value == pytest.approx(log(2) / 2)
    assert first.note == second.note
    for words in ("best (never lost)", "worst (never won)", "v (not connected to the others by wins and losses)"):
        assert words in first.note
