"""k-anonymity and small cells: by definition, and on small tables."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.datasets.deposits.anonymity import k_anonymity, small_cells

COLUMNS = ("age", "sex", "home")
PERSON = st.tuples(st.sampled_from(["18", "30", ""]), st.sampled_from("fm"), st.sampled_from(["DE", "FR"]))
PEOPLE = st.lists(PERSON, max_size=40)


@given(PEOPLE, st.integers(2, 8))
def test_there_are_small_cells_if_and_only_if_k_is_below_the_threshold(people: list[tuple[str, ...]], k: int) -> None:
    assert bool(small_cells(COLUMNS, people, k)) == bool(people and k_anonymity(people) < k)


@given(PEOPLE)
def test_k_is_the_number_of_people_in_the_rarest_combination(people: list[tuple[str, ...]]) -> None:
    k = k_anonymity(people)
    assert all(people.count(person) >= k for person in people)
    assert not people or any(people.count(person) == k for person in people)


@given(PEOPLE, st.integers(2, 8))
def test_no_combination_that_contains_another_is_reported_except_all(people: list[tuple[str, ...]], k: int) -> None:
    found = [{*one.columns} for one in small_cells(COLUMNS, people, k)]
    assert not [1 for one in found for other in found if one < other != {*COLUMNS}]
    assert not found or {*COLUMNS} in found


@given(PEOPLE, st.integers(2, 8))
def test_cells_and_people_are_counted(people: list[tuple[str, ...]], k: int) -> None:
    for one in small_cells(COLUMNS, people, k):
        places = [COLUMNS.index(name) for name in one.columns]
        counts = Counter(tuple(person[place] for place in places) for person in people)
        rare = [number for number in counts.values() if number < k]
        assert (one.cells, one.people, one.smallest) == (len(rare), sum(rare), min(rare))


@pytest.mark.parametrize(
    ("people", "columns"),
    [
        ([("18", "f", "DE")] * 6 + [("30", "f", "DE")], [("age",), COLUMNS]),  # one value is rare alone
        ([("18", "f", "DE")] * 5 + [("30", "m", "DE")] * 5, []),
        ([("18", "f", "DE")] * 5 + [("30", "m", "DE")] * 5 + [("18", "m", "DE")], [("age", "sex"), COLUMNS]),
        ([], []),
    ],
)
def test_the_smallest_combinations_are_reported(people: list[tuple[str, ...]], columns: list[tuple[str, ...]]) -> None:
    assert [one.columns for one in small_cells(COLUMNS, people, 5)] == columns


def test_examples_name_values_and_numbers() -> None:
    (found,) = small_cells(("age",), [("18",)] * 5 + [("",)], 5)
    assert found.examples == ("age=(blank): 1",)


def test_many_columns_are_searched_up_to_three_and_all_together() -> None:
    names = tuple("abcdefghij")
    people = [tuple("0" * 10)] * 9 + [("1", *"000000000")]
    assert [one.columns for one in small_cells(names, people, 5)] == [("a",), names]
