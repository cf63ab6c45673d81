"""What is assumed for power is what data show: by hand, and found again in simulated data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from app.extensions.trials import simulation
from app.extensions.trials.power_plan import observe
from app.extensions.trials.simulation import Assumptions, Design


def test_variances_by_hand() -> None:
    rows = pd.DataFrame({
        "participant": np.repeat(np.arange(10), 2), "arm": "control", "value": [1, 1] * 5 + [0, 1] * 5,
    })  # fmt: skip
    found = observe(rows)
    # the mean is 3/4, the variance 3/16; products are 1/16 for five people, -3/16 for the other five: a mean of -1/16
    shown = (found["baseline"], found["sd"] ** 2, found["icc_participant"])
    assert shown == pytest.approx((0.75, 3 / 16, 0.0))
    alike = observe(rows.assign(value=[1, 1] * 5 + [0, 0] * 5))
    assert (alike["baseline"], alike["icc_participant"]) == pytest.approx((0.5, 1.0))


@pytest.mark.parametrize(
    "assumed",
    [
        Assumptions(0.7, None, icc_participant=0.2, icc_question=0.1),
        Assumptions(4.0, 2.0, icc_participant=0.3, icc_question=0.15),
    ],
)
def test_simulated_assumptions_are_found_again(assumed: Assumptions) -> None:
    design = Design("between", "different", 0.05, answers=8, questions=150)
    data = simulation.draw(np.random.default_rng(5), assumed, design, 3_000, 0.0)
    found = observe(
        pd.DataFrame(
            {
                "participant": data.people,
                "question": data.questions,
                "value": data.value,
                "arm": np.where(data.treated == 1, "treatment", "control"),
            }
        )
    )
    assert found["baseline"] == pytest.approx(assumed.baseline, abs=0.1 * assumed.spread)
    assert found["sd"] == pytest.approx(assumed.spread, rel=0.06)
    assert found["icc_participant"] == pytest.approx(assumed.icc_participant, abs=0.03)
    assert found["icc_question"] == pytest.approx(assumed.icc_question, abs=0.04)
    again = replace(assumed, icc_participant=found["icc_participant"])
    assert sum(again.latent()) < 1
