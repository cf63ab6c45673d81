"""Agreement between an annotator and people: equal to what is worked out by hand."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.annotator_agreement import Pair, kappa_interval, verified

COHEN = {("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}
"""The textbook example: p_o = 35/50 = 0.7, p_e = (25*30 + 25*20)/50^2 = 0.5, kappa = 0.4."""
YES_NO = ("yes", "no")


def pairs_of(table: dict[tuple[str, str], int], raters: int = 1) -> list[Pair]:
    said = [labels for labels, number in table.items() for _ in range(number)]
    return [Pair(f"c{n}", f"r{rater}", *labels) for n, labels in enumerate(said) for rater in range(raters)]


def test_kappa_and_the_share_of_equal_labels_are_those_worked_out_by_hand() -> None:
    found = verified("effort", pairs_of(COHEN), YES_NO)
    assert found is not None
    assert (found.n, found.conversations, found.raters, found.people) == (50, 50, 1, None)
    assert found.agreement.value == pytest.approx(0.7)
    assert found.agreement.low is not None
    assert found.agreement.low < 0.7 < found.agreement.high
    assert found.agreement.low == pytest.approx(0.56, abs=0.02), "Wilson's interval of 35 of 50: 0.562 to 0.809"
    assert found.agreement.high == pytest.approx(0.81, abs=0.02)
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx(0.4)
    assert found.kappa.low == pytest.approx(0.4 - 1.96 * 0.127, abs=0.05), "the large-sample error of kappa is 0.127"


def test_three_values_and_two_people_are_those_worked_out_by_hand() -> None:
    """Annotator a,a,b,c; one person a,b,b,c, the other a,a,b,b: 6 of 8 equal.

    Annotator's shares a 4/8, b 2/8, c 2/8; people's a 3/8, b 4/8, c 1/8: p_e = (12 + 8 + 2)/64 = 22/64,
    kappa = (48 - 22)/(64 - 22) = 26/42. People: alpha = 1 - d_o/d_e with 8 values, 2 of 4 pairs unequal, and chance
    unequal in 2*(3*4 + 3*1 + 4*1)/(8*7) = 38/56: alpha = 1 - (2/4)/(38/56) = 1 - 28/38.
    """
    rows = [("a", "aa"), ("a", "ba"), ("b", "bb"), ("c", "cb")]
    pairs = [Pair(f"c{n}", f"r{r}", model, people[r]) for n, (model, people) in enumerate(rows) for r in (0, 1)]
    found = verified("label", pairs, ("a", "b", "c"))
    assert found is not None
    assert found.kappa is not None
    assert found.people is not None
    assert (found.n, found.conversations, found.raters) == (8, 4, 2)
    assert found.agreement.value == pytest.approx(6 / 8)
    assert found.kappa.value == pytest.approx(26 / 42)
    assert found.people.value == pytest.approx(1 - 28 / 38)


tables = st.fixed_dictionaries({both: st.integers(0, 12) for both in product(YES_NO, YES_NO)})


@given(tables)
def test_kappa_is_the_same_from_either_side_and_whatever_values_are_called(table: dict[tuple[str, str], int]) -> None:
    def kappa(told: dict[tuple[str, str], int]) -> float | None:
        found = kappa_interval(pairs_of(told), YES_NO)
        return None if found is None else round(found.value, 9)

    other = {"yes": "no", "no": "yes"}
    assert kappa({(b, a): number for (a, b), number in table.items()}) == kappa(table)
    assert kappa({(other[a], other[b]): number for (a, b), number in table.items()}) == kappa(table)
