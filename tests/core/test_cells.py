"""The cells of a study: bounded in number, and looked at once each."""

from __future__ import annotations

import pytest

from experiments.core.cells import Cell, beyond, cells, standings
from experiments.core.participation import Cap


@pytest.mark.parametrize(("sizes", "last"), [((50, 40), None), ((2_000,), None), ((2_001,), "f0"), ((10,) * 20, "f3")])
def test_cells_are_counted_and_no_more_than_the_limit_are_built(sizes: tuple[int, ...], last: str | None) -> None:
    factors = {f"f{n}": tuple(f"v{m}" for m in range(size)) for n, size in enumerate(sizes)}
    assert beyond(factors, {}) == last
    if last is None:
        assert len(cells(factors, {})) == 2_000


def test_no_cell_is_compared_with_another_to_say_how_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(one: Cell, other: object) -> bool:
        raise AssertionError("2,000 cells are 4,000,000 comparisons")

    monkeypatch.setattr(Cell, "__eq__", compare)
    every = cells({"a": tuple(f"v{n}" for n in range(1_000)), "b": ("x", "y")}, {})
    caps = [Cap(where={"a": "v0"}, most=1), Cap(where={"a": "v1"}, most=0)]
    stand = standings([(cell, 1, 0) for cell in every], caps)
    assert [one.shut for one in stand[:5]] == ["full", "full", "off", "off", ""]
    assert sum(one.target or 0 for one in stand) == pytest.approx(1_996)
