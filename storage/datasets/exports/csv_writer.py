"""A csv as pandas' `to_csv` writes it: a cell is quoted only if it must be, nothing stands for what is unknown."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any, TextIO


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
