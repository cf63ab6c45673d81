"""What all sources need to read a file: its text, its rows if it is csv, and which ids stand in it twice."""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from problems.errors import ProblemError

SEPARATORS: Mapping[str, str] = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
Record = tuple[int, list[str]]
"""A row of a csv file, after the line it begins on."""


def read_text(path: Path) -> str:
    """Read a file in UTF-8, or in UTF-16 if it has that mark (Excel's "Unicode text"), as it is: a byte order mark is
    dropped, line ends are kept.

    Raises ProblemError if it cannot be opened or decoded.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ProblemError(f"{path}: cannot be read ({error.strerror}). Check the path and its permissions.") from error
    try:
        return content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ProblemError(f"{path}: line {line} is not UTF-8. Save the file as UTF-8 (Excel: CSV UTF-8).") from error


def csv_records(text: str) -> tuple[list[Record], list[str]]:
    """Split the text into rows, each with the line it begins on, up to the first that csv cannot read.

    What spreadsheets leave behind is passed over: another separator than the comma, blank rows, and blank cells beyond
    the header.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator_of(text, 1), strict=True)
    records: list[Record] = []
    line = 1
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                records.append((line, cells))
            line = reader.line_num + 1
    except csv.Error as error:
        return _trimmed(records), [f"line {line}: not csv ({error}); check the quotes in this row"]
    return _trimmed(records), []


def _trimmed(records: list[Record]) -> list[Record]:
    """The rows without the columns after the last one with a name, as far as they are blank."""
    header = records[0][1] if records else []
    width = max((place for place, cell in enumerate(header, 1) if cell.strip()), default=0)
    return [
        (line, cells if any(map(str.strip, cells[width:])) else cells[:width] if len(cells) > width else cells)
        for line, cells in records
    ]


def separator_of(text: str, rows: int) -> str:
    """The separator of a csv text: the one with which its first `rows` rows have the most cells.

    One row is enough where it is the header, and better, as texts below it may hold other separators.
    """
    return max(SEPARATORS, key=lambda one: _width(text, one, rows))


def _width(text: str, separator: str, rows: int) -> int:
    """How many cells the widest of the first rows has, and at least two rows agree on if there are as many."""
    widths: list[int] = []
    try:
        for cells in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            widths.append(len(cells))
            if len(widths) == rows:
                break
    except csv.Error:
        return 0
    return max((width for width in widths if widths.count(width) > 1), default=max(widths, default=0))


def repeated(ids: Iterable[tuple[int, str]]) -> list[str]:
    """Name each id that an earlier line has already, given (line, id) in the file's order."""
    first: dict[str, int] = {}
    return [
        f"line {line}: the id {name!r} is taken by line {first[name]}; ids must differ"
        for line, name in ids
        if first.setdefault(name, line) != line
    ]
