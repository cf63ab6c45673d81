"""Writers of exported files.

CSV as pandas' `to_csv` writes it: a cell is quoted only if necessary, and unknown values are blank. JSON as in the
releases: one array with an object per line; columns of kind json contain the value itself.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any, BinaryIO, TextIO

import orjson

from storage.schemas.base import Column


class _Lines:
    """The output of the csv writer: it writes lines that end in CR LF, which become LF here.

    With CR LF as line end, the csv writer also quotes cells with a lone carriage return, which would break a row.
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

    def rows(self, rows: Iterable[Iterable[Any]]) -> None:
        """Write some rows."""
        self._writer.writerows(rows)

    def close(self) -> None:
        """Do nothing: a csv has no end mark."""


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """A small file."""
    text = StringIO()
    CsvWriter(text, header).rows(rows)
    return text.getvalue()


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
        """Write the end of the array."""
        self._file.write(b"\n]\n")
