"""Weight of advice, reliance on recommendations and calibration of confidence, against examples computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extensions.analysis.advice import (
    ALONE,
    COLUMNS,
    WITH_AI,
    advice_reliance,
    calibration,
    calibration_error,
    weight_of_advice,
)
from tests.fakes.figures import named

JUDGED = st.lists(st.tuples(st.integers(0, 100), st.booleans()), min_size=1, max_size=60)


def row(person: str, problem: str, seq: int, question: str, **values: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "participant": person, "session": f"s-{person}", "position": int(problem[1:]), "problem": problem,
        "step": "answer", "dataset": "d", "status": "submitted", "seq": seq, "question": question,
    }  # fmt: skip
    return {**dict.fromkeys(COLUMNS), **known, **values}


def answers(*rows: dict[str, Any]) -> pd.DataFrame:
    kinds = {"position": "Int64", "seq": "Int64", "number": "float64", "correct": "Int64", "advice_correct": "Int64"}
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(kinds)


def weighed(*given: tuple[str, str, float, float, float]) -> pd.DataFrame:
    """Answers of (person, problem, own answer, advice, final answer)."""
    rows = []
    for number, (person, problem, own, advice, final) in enumerate(given):
        rows.append(row(person, problem, 10 * number + 1, "answer", value=str(own), number=own))
        shown = {"value": str(final), "number": final, "advice": str(advice)}
        rows.append(row(person, problem, 10 * number + 2, "answer", **shown))
    return answers(*rows)


def test_weight_of_advice() -> None:
    rows = weighed(
        ("a", "p1", 100, 200, 150),
        ("a", "p2", 100, 200, 100),
        ("b", "p1", 50, 0, 0),
        ("b", "p2", 100, 200, 80),
        ("c", "p1", 10, 20, 25),
        ("c", "p2", 7, 7, 9),
    )
    found = named(weight_of_advice(rows))["advice.weight.all"]
    assert found.value == pytest.approx(2.5 / 5, abs=1e-12)
    assert (found.n, found.participants) == (5, 3)
    assert found.further["uncut"] == pytest.approx((0.5 + 0 + 1 - 0.2 + 1.5) / 5, abs=1e-12)
    assert found.further["kept"] == pytest.approx(1 / 5)
    assert found.further["adopted"] == pytest.approx(1 / 5)
    assert found.further["outside"] == pytest.approx(2 / 5)
    assert found.further["undefined"] == 1
    assert found.low is not None
    assert found.low < found.value


def judged(kind: str, *given: tuple[str, str, int, int]) -> pd.DataFrame:
    """Answers of (person, problem, confidence, right)."""
    rows = []
    for number, (person, problem, sure, right) in enumerate(given):
        seq = 10 * number + (1 if kind == ALONE else 5)
        step = "answer" if kind == ALONE else "chat"
        rows.append(row(person, problem, seq, "answer", value="A", correct=right, step=step))
        rows.append(row(person, problem, seq, "answer_confidence", value=str(sure), number=sure, step=step))
    return answers(*rows)


BEFORE = (("a", "p1", 90, 1), ("a", "p2", 90, 0), ("b", "p1", 60, 1), ("b", "p2", 50, 0))
AFTER = (("a", "p1", 100, 1), ("a", "p2", 80, 1), ("b", "p1", 70, 1), ("b", "p2", 20, 0))


def test_calibration_by_hand() -> None:
    """Alone: squares .01 + .81 + .16 + .25 = 1.23. Bins: .8 / 4 + .4 / 4 + .5 / 4, of 90 (-.1 + .9), 60 and 50."""
    found = named(calibration(pd.concat([judged(ALONE, *BEFORE), judged(WITH_AI, *AFTER)])))
    assert found["advice.brier.alone"].value == pytest.approx(1.23 / 4, abs=1e-12)
    assert found["advice.brier.with_AI"].value == pytest.approx((0 + 0.04 + 0.09 + 0.04) / 4, abs=1e-12)
    assert found["advice.brier.change"].value == pytest.approx((0.17 - 1.23) / 4, abs=1e-12)
    assert found["advice.overconfidence.alone"].value == pytest.approx(0.725 - 0.5, abs=1e-12)
    assert found["advice.overconfidence.with_AI"].value == pytest.approx(0.675 - 0.75, abs=1e-12)
    assert found["advice.overconfidence.change"].value == pytest.approx(-0.3, abs=1e-12)
    assert found["advice.calibration.error.alone"].value == pytest.approx(1.7 / 4, abs=1e-12)


@given(JUDGED)
def test_the_calibration_error_is_that_of_a_loop_over_bins(given_: list[tuple[int, bool]]) -> None:
    points, right = (np.array(column, dtype="float64") for column in zip(*given_, strict=True))
    total = 0.0
    for low in range(0, 100, 10):
        inside = [(p, y) for p, y in given_ if low < p <= low + 10 or (low == p == 0)]
        if inside:
            sure, came = (sum(column) / len(inside) for column in zip(*inside, strict=True))
            total += len(inside) / len(given_) * abs(sure / 100 - came)
    assert calibration_error(points / 100, right) == pytest.approx(total, abs=1e-9)


def chosen(*given: tuple[str, str, str, int, str, int, str, int]) -> pd.DataFrame:
    """Answers of (person, problem, own answer, right, advice, right, final answer, right)."""
    rows = []
    for number, (person, problem, own, before, advice, advised, final, after) in enumerate(given):
        rows.append(row(person, problem, 10 * number, "answer", value=own, correct=before))
        shown = {"value": final, "correct": after, "advice": advice, "advice_correct": advised}
        rows.append(row(person, problem, 10 * number + 1, "answer", **shown))
    return answers(*rows)


def test_reliance_and_complementary_performance_by_hand() -> None:
    rows = chosen(
        ("a", "p1", "A", 0, "B", 1, "B", 1),
        ("a", "p2", "A", 0, "B", 1, "A", 0),
        ("b", "p1", "B", 1, "C", 0, "B", 1),
        ("b", "p2", "B", 1, "C", 0, "C", 0),
        ("c", "p1", "B", 1, "B", 1, "B", 1),
    )
    found = {name.removeprefix("advice."): one.value for name, one in named(advice_reliance(rows)).items()}
    assert found["reliance.relative_ai"] == pytest.approx(1 / 2)
    assert found["reliance.relative_self"] == pytest.approx(1 / 2)
    assert found["reliance.appropriate"] == pytest.approx(2 / 4)
    assert found["reliance.over"] == pytest.approx(1 / 2)
    assert found["reliance.under"] == pytest.approx(1 / 3)
    assert found["reliance.agreement"] == pytest.approx(3 / 5)
    assert found["reliance.switch"] == pytest.approx(2 / 4)
    assert found["complementary.all"] == pytest.approx(3 / 5 - 3 / 5)
