"""Writers of exported files, and what others take their cells for.

CSV as pandas' `to_csv` writes it: a cell is quoted only if necessary, and unknown values are blank. JSON as in the
releases: one array with an object per line; columns of kind json contain the value itself.

A csv has no cell types, so a spreadsheet takes every cell that begins with one of some characters for a formula, even
if a participant wrote it (OWASP ASVS 1.2.10). Exact exports keep such cells; the variant for spreadsheets escapes them.

JSON Lines, the copy of a csv beside it, have an object for each row.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from io import RawIOBase, StringIO
from operator import itemgetter
from typing import Any, BinaryIO, TextIO

import orjson

from storage.columns import FRACTION, Column

Rows = Sequence[Sequence[Any]]
# Includes the full-width forms of = + - @, which Chinese and Japanese spreadsheets treat alike.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# Spreadsheets treat a cell with this prefix as text.
ESCAPE = "'"
WHOLE = re.compile("-?[0-9]+")
# The folder of pictures in an export, and what the name of each ends in.
FOLDER = "pictures"
ENDINGS: Mapping[str, str] = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


class _Lines:
    """Turns CR LF into LF. With LF as line end, csv would not quote a lone carriage return, which breaks a row."""

    def __init__(self, file: TextIO) -> None:
        self._write = file.write

    def write(self, line: str) -> None:
        self._write(line[:-2] + "\n")


class CsvWriter:
    def __init__(self, file: TextIO, header: Sequence[str]) -> None:
        self._writer = csv.writer(_Lines(file), lineterminator="\r\n")
        self._writer.writerow(header)

    def rows(self, rows: Iterable[Iterable[Any]]) -> None:
        self._writer.writerows(rows)

    def close(self) -> None:
        """Do nothing: a csv has no end mark."""


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    text = StringIO()
    CsvWriter(text, header).rows(rows)
    return text.getvalue()


class LinesWriter:
    def __init__(self, file: BinaryIO | HashingFile, columns: Sequence[Column]) -> None:
        self._file, self._names = file, [column.name for column in columns]
        self._json = [number for number, column in enumerate(columns) if column.kind == "json"]

    def rows(self, rows: Rows) -> None:
        self._file.writelines(line + b"\n" for line in self._objects(rows))

    def _objects(self, rows: Rows) -> Iterator[bytes]:
        for row in rows:
            cells = list(row)
            for number in self._json:
                if isinstance(cells[number], str):
                    cells[number] = orjson.Fragment(cells[number])
            yield orjson.dumps(dict(zip(self._names, cells, strict=True)))


class JsonWriter(LinesWriter):
    def __init__(self, file: BinaryIO | HashingFile, columns: Sequence[Column]) -> None:
        super().__init__(file, columns)
        self._between = b"\n"
        file.write(b"[")

    def rows(self, rows: Rows) -> None:
        self._file.write(self._between + b",\n".join(self._objects(rows)))
        self._between = b",\n"

    def close(self) -> None:
        self._file.write(b"\n]\n")


def is_formula(cell: str) -> bool:
    """True if a spreadsheet would run the cell."""
    return cell.startswith(FORMULA_STARTS)


def escaped(cell: str) -> str:
    """The cell, with an apostrophe in front if a spreadsheet would run it."""
    return ESCAPE + cell if is_formula(cell) else cell


class HashingFile(RawIOBase):
    def __init__(self, file: BinaryIO) -> None:
        self._file, self._hash, self.bytes = file, sha256(), 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._hash.update(data)
        self.bytes += len(data)
        self._file.write(data)
        return len(data)


class CsvCells:
    """Columns of whole numbers that csv readers take for floats (a blank, a point) or texts, as imported `True`."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._numbers = [(number, column.name) for number, column in enumerate(columns) if column.kind == "integer"]
        self._floats: set[str] = set()
        self._texts: set[str] = set()
        self.rows = 0

    @property
    def as_floats(self) -> frozenset[str]:
        return frozenset(self._floats - self._texts)

    @property
    def as_texts(self) -> frozenset[str]:
        return frozenset(self._texts)

    def see(self, rows: Rows) -> None:
        self.rows += len(rows)
        for number, name in self._numbers:
            for cell in set(map(itemgetter(number), rows)):
                if not (type(cell) is int or (type(cell) is str and cell.isdecimal())):
                    self._see(name, cell)

    def _see(self, name: str, cell: Any) -> None:
        if cell is None or cell == "":
            self._floats.add(name)
        elif not (isinstance(cell, int) or WHOLE.fullmatch(cell)):
            (self._floats if FRACTION.fullmatch(cell) else self._texts).add(name)


def picture_path(sha256: str, type_: str) -> str:
    return f"{FOLDER}/{sha256}.{ENDINGS[type_]}"
