"""The cells of a study: bounded in number, and looked at once each."""

from __future__ import annotations

import pytest

from experiments.study.cells import cells, outside_cell


@pytest.mark.parametrize(("sizes", "last"), [((50, 40), None), ((2_000,), None), ((2_001,), "f0"), ((10,) * 20, "f3")])
def test_cells_are_counted_and_no_more_than_the_limit_are_built(sizes: tuple[int, ...], last: str | None) -> None:
    factors = {f"f{n}": tuple(f"v{m}" for m in range(size)) for n, size in enumerate(sizes)}
    assert outside_cell(factors, {}) == last
    if last is None:
        assert len(cells(factors, {})) == 2_000
