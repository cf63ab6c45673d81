"""Writers of exported files.

CSV as pandas' `to_csv` writes it: a cell is quoted only if it must be, nothing stands for what is unknown. JSON as the
releases have it: one array, an object on a line; columns of kind json hold their value.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any, BinaryIO, TextIO

import orjson

from storage.schemas.base import Column


class _Lines:
    """Where the csv writer writes lines that end in CR LF; here they end in LF.

    The writer quotes a cell for any character of its line end, and a carriage return alone tears a row.
    """

    def __init__(self, file: TextIO) -> None:
        self._write = file.write

    def write(self, line: str) -> None:
        self._write(line[:-2] + "\n")


class CsvWriter:
    """Rows into a file."""

    def __init__(self, file: TextIO, header: Sequence[str]) -> None:
        self._writer = csv.writer(_Lines(file), lineterminator="\r\n")
        self._writer.writerow(header)

    def rows(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write some rows."""
        self._writer.writerows(rows)

    def close(self) -> None:
        """Nothing stands after the last row."""


class JsonWriter:
    """Rows into a file."""

    def __init__(self, file: BinaryIO, columns: Sequence[Column]) -> None:
        self._file, self._names = file, [column.name for column in columns]
        self._json = [number for number, column in enumerate(columns) if column.kind == "json"]
        self._between = b"\n"
        file.write(b"[")

    def rows(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write some rows."""
        objects = []
        for row in rows:
            cells = list(row)
            for number in self._json:
                if isinstance(cells[number], str):
                    cells[number] = orjson.Fragment(cells[number])
            objects.append(orjson.dumps(dict(zip(self._names, cells, strict=True))))
        self._file.write(self._between + b",\n".join(objects))
        self._between = b",\n"

    def close(self) -> None:
        """End the list."""
        self._file.write(b"\n]\n")
