"""How the console shows steps and amounts."""

from __future__ import annotations

import pytest

from app.web.console.formatting import money, step_label

STEPS = {
    ("consent", ""): ("Consent", ""),
    ("phase-1/question[*]/with_ai", ""): ("With AI", "Phase 1, Question"),
    ("phase-1/question[1]/with_ai", ""): ("With AI", "Phase 1, Question 2"),
    ("phase-2/preference", "Your preference"): ("Your preference", "Phase 2"),
    ("", ""): ("–", ""),
}


@pytest.mark.parametrize(("step", "label"), STEPS.items())
def test_a_step_has_a_label_in_words(step: tuple[str, str], label: tuple[str, str]) -> None:
    assert step_label(*step) == label


AMOUNTS = {0: "0.00", 0.0000042: "0.0000042", 0.00042: "0.00042", 0.0099: "0.0099", 0.01: "0.01", 1234.5: "1,234.50"}


@pytest.mark.parametrize(("amount", "shown"), AMOUNTS.items())
def test_a_small_cost_is_not_shown_as_none(amount: float, shown: str) -> None:
    assert money(amount) == shown
