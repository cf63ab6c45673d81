"""Disclosure control in an export: leave columns out, and round numbers down, so that nobody can be singled out.

The files stay complete otherwise: codebook, card and metadata describe the columns that are left, and the card says
which were left out or rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import floor
from shlex import quote
from typing import Any

from experiments.errors import suggestion
from storage.datasets.writers import Rows
from storage.errors import StorageError
from storage.schemas.base import Column


def check_names(columns: Sequence[Column], without: Sequence[str], rounded: Mapping[str, int]) -> None:
    """Check that the columns of an export have these names, and that those to round are open numbers; raises
    StorageError."""
    known = {column.name: column for column in columns}
    for option, names in {"--without": without, "--round-down": rounded}.items():
        for name in names:
            if name not in known:
                raise StorageError(f"{option} {name}: no file of this export has this column{suggestion(name, known)}")
    for name, width in rounded.items():
        if known[name].kind not in ("integer", "number") or known[name].form.labels:
            instead = f"Leave it out: --without {quote(name)}"
            raise StorageError(f"--round-down {name}: the column has no open numbers. {instead}")
        if width < 2:
            such = quote(f"{name}=10")
            raise StorageError(f"--round-down {name}={width}: give a whole number from 2, such as {such}")
        if name in without:
            raise StorageError(f"{name} is both left out and rounded: give either --without or --round-down")


def kept(columns: Iterable[Column], without: Sequence[str]) -> tuple[Column, ...]:
    return tuple(column for column in columns if column.name not in without)


def round_down(batches: Iterator[Rows], columns: Sequence[Column], widths: Mapping[str, int]) -> Iterator[Rows]:
    """The rows with the numbers in some columns rounded down to multiples of a width."""
    places = [(number, widths[column.name]) for number, column in enumerate(columns) if column.name in widths]
    for batch in batches:
        yield [_rounded(row, places) for row in batch] if places else batch


def _rounded(row: Sequence[Any], places: Sequence[tuple[int, int]]) -> Sequence[Any]:
    cells = list(row)
    for number, width in places:
        cells[number] = rounded_cell(cells[number], width)
    return cells


def rounded_cell(cell: Any, width: int) -> Any:
    """A number, or the text of one, as the next lower multiple of a width; a blank cell and a text that is no number,
    as imported files may have, are blank."""
    if cell is None or cell == "":
        return cell
    try:
        lower = floor(float(cell) / width) * width
    except (ValueError, OverflowError):  # NaN and infinity too
        return "" if isinstance(cell, str) else None
    return type(cell)(lower) if isinstance(cell, str | float) else lower
