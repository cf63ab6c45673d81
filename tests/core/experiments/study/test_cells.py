"""The cells of a study: bounded in number, and looked at once each."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from experiments.study.cells import Cell, cells, outside_cell, parse_cell, wanted_in
from experiments.study.sections.recruitment import Quota

# ax, ay, bx, by, of equal weight.
FOUR = cells({"who": ("a", "b"), "how": ("x", "y")}, {})
QUOTAS = {
    "of nobody": ((), [None] * 4),
    "of all": ((({}, 60),), [15] * 4),
    "of a value": ((({"who": "a"}, 10),), [5, 5, None, None]),
    "of all, and a smaller one of a cell": ((({}, 60), ({"who": "a", "how": "x"}, 6)), [6, 18, 18, 18]),
    "of all, and a cell that is closed": ((({}, 60), ({"who": "a", "how": "x"}, 0)), [0, 20, 20, 20]),
    "of all, and a larger one of a cell": ((({}, 60), ({"who": "a", "how": "x"}, 40)), [15] * 4),
    "smaller ones of all values": ((({}, 60), ({"who": "a"}, 10), ({"who": "b"}, 20)), [5, 5, 10, 10]),
    "two of all": ((({}, 60), ({}, 40)), [10] * 4),
}


@pytest.mark.parametrize(("caps", "wanted"), QUOTAS.values(), ids=QUOTAS)
def test_a_quota_is_shared_out_among_its_cells(
    caps: tuple[tuple[dict[str, str], int], ...], wanted: list[float | None]
) -> None:
    assert list(wanted_in(FOUR, [Quota(where=where, max=most) for where, most in caps])) == wanted


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


@pytest.mark.parametrize(("sizes", "last"), [((50, 40), None), ((2_000,), None), ((2_001,), "f0"), ((10,) * 20, "f3")])
def test_cells_are_counted_and_no_more_than_the_limit_are_built(sizes: tuple[int, ...], last: str | None) -> None:
    factors = {f"f{n}": tuple(f"v{m}" for m in range(size)) for n, size in enumerate(sizes)}
    assert outside_cell(factors, {}) == last
    if last is None:
        assert len(cells(factors, {})) == 2_000


@given(st.from_regex(r"[!-~]([ -~]{0,60}[!-~])?", fullmatch=True))
@example("qwen2.5:7b")
@example("a=b, c: d")
def test_any_line_can_be_a_value_and_names_its_cell(value: str) -> None:
    factors = {"model": (value, f"{value}2")}
    assert parse_cell([f"model={value}"], factors, {}) == {"model": value}
    assert {cell.values["model"] for cell in cells(factors, {})} == set(factors["model"])
