"""The cells of a study: bounded in number, and looked at once each."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from experiments.study.cells import Cell, cells, parse_cell, wanted_in
from experiments.study.sections.recruitment import Quota


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any),
    st.integers(0, 500),
    st.lists(st.integers(0, 100), min_size=6, max_size=6),
)
def test_no_more_is_wanted_than_any_quota_allows(weights: list[int], most: int, own: list[int]) -> None:
    every = [Cell({"arm": f"{n}"}, weight / sum(weights)) for n, weight in enumerate(weights)]
    caps = [Quota(max=most), *(Quota(where={"arm": f"{n}"}, max=own[n]) for n in range(len(every)))]
    wanted = wanted_in(every, caps)
    assert all(part is not None and part <= own[n] + 1e-9 for n, part in enumerate(wanted))
    takes = sum(own[n] for n, weight in enumerate(weights) if weight)
    assert sum(part or 0 for part in wanted) == pytest.approx(min(most, takes))


@given(st.from_regex(r"[!-~]([ -~]{0,60}[!-~])?", fullmatch=True))
@example("qwen2.5:7b")
@example("a=b, c: d")
def test_any_line_can_be_a_value_and_names_its_cell(value: str) -> None:
    factors = {"model": (value, f"{value}2")}
    assert parse_cell([f"model={value}"], factors, {}) == {"model": value}
    assert {cell.values["model"] for cell in cells(factors, {})} == set(factors["model"])
