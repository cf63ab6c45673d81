"""What all sources need to read a file: its text, its rows if it is csv, and which ids stand in it twice."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from problems.errors import ProblemError

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
    """Split the text into rows, each with the line it begins on, up to the first that csv cannot read."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    records: list[Record] = []
    line = 1
    try:
        for cells in reader:
            if cells:
                records.append((line, cells))
            line = reader.line_num + 1
    except csv.Error as error:
        return records, [f"line {line}: not csv ({error}); check the quotes in this row"]
    return records, []


def repeated(ids: Iterable[tuple[int, str]]) -> list[str]:
    """Name each id that an earlier line has already, given (line, id) in the file's order."""
    first: dict[str, int] = {}
    return [
        f"line {line}: the id {name!r} is taken by line {first[name]}; ids must differ"
        for line, name in ids
        if first.setdefault(name, line) != line
    ]
