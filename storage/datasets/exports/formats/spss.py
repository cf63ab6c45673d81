"""SPSS (`.sav`), by pyreadstat, with labels (labelled.py)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from storage.datasets.exports.formats.labelled import labelled
from storage.errors import StorageError
from storage.schemas.base import Column

MOST_BYTES = 32_767
"""The longest text of SPSS (SPSS Statistics, "String variables")."""
LABEL, VALUE_LABEL = 256, 120
"""The longest labels of variables and values, in bytes (SPSS Statistics, "Variable labels" and "Value labels")."""
CREATED_AT, CREATED = 92, b"01 Jan 7000:00:00"
"""The header's time of creation (PSPP developers' guide, "System File Format"), which is not part of the data."""


def write(out: Path, columns: Sequence[Column], batches: Iterable[Sequence[Sequence[Any]]]) -> None:
    """Write rows; raises StorageError for a text that is too long for SPSS."""
    import pyreadstat

    table = labelled(columns, batches, "sav")
    for name in table.texts:
        longest = max((len(text.encode()) for text in table.frame[name]), default=0)
        if longest > MOST_BYTES:
            raise StorageError(
                f"{name} has a text of {longest:,} bytes, and SPSS reads at most {MOST_BYTES:,}. Nothing was written. "
                "Export without --format sav; parquet and dta have no such limit"
            )
    pyreadstat.write_sav(
        table.frame,
        out,
        column_labels={name: _cut(label, LABEL) for name, label in table.variables.items()},
        variable_value_labels={
            name: {value: _cut(label, VALUE_LABEL) for value, label in labels.items()}
            for name, labels in table.values.items()
        },
        variable_measure={name: "nominal" for name in (*table.texts, *table.values)},
        row_compress=True,
    )
    with out.open("r+b") as file:
        file.seek(CREATED_AT)
        file.write(CREATED)


def _cut(text: str, most: int) -> str:
    return text.encode()[:most].decode(errors="ignore")
