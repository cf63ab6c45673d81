"""Copies of exported files in other formats, from their typed rows. To add one, add a module with a function `write`.

The released files, csv or JSON, are always written. A copy lies beside its file, with the format as its suffix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from experiments.errors import suggestion
from problems.errors import install_line
from storage.datasets.exports.formats import json_lines, parquet, spss, stata
from storage.errors import StorageError
from storage.schemas.base import Column

Batches = Iterable[Sequence[Sequence[Any]]]
"""Rows of database values in batches; the value of a JSON column is its JSON text."""
FORMATS: Mapping[str, Callable[[Path, Sequence[Column], Batches], None]] = MappingProxyType(
    {"jsonl": json_lines.write, "parquet": parquet.write, "sav": spss.write, "dta": stata.write}
)
"""The function that writes rows in each format, by the suffix of its files."""
EXTRAS: Mapping[str, str] = MappingProxyType({"pyarrow": "parquet", "pyreadstat": "spss"})
"""The extra of Parley that has each package."""


def check(formats: Iterable[str]) -> None:
    """Raise StorageError for a format that does not exist."""
    for name in formats:
        if name not in FORMATS:
            raise StorageError(f"no format is called {name!r}{suggestion(name, list(FORMATS))}")


def copy_path(path: str, format_: str) -> str:
    """The path of a file's copy."""
    return str(PurePosixPath(path).with_suffix(f".{format_}"))


def write(format_: str, out: Path, columns: Sequence[Column], batches: Batches) -> None:
    """Write rows; raises StorageError if the package that it needs is not installed."""
    try:
        FORMATS[format_](out, columns, batches)
    except ModuleNotFoundError as error:
        extra = EXTRAS.get(error.name or "")
        if extra is None:
            raise
        raise StorageError(
            f"--format {format_} needs the package {error.name}. Install it: {install_line(extra)}"
        ) from None
