"""Shared by sources that read files: csv with its separator, and the faults of rows with their places."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from problems.errors import ProblemError

MOST_PLACES = 5
SEPARATORS: Mapping[str, str] = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
# A row of a csv file, after the line it begins on.
Record = tuple[int, list[str]]
# The first line that gives Excel the separator; it has no data.
_DECLARED = re.compile(r'"?sep=(?P<separator>[,;\t|])"?[,;\t|]*(?:\n|$)', re.IGNORECASE)
# A text as spreadsheets protect it from being read as a number: `="007"`.
_TEXT_FORMULA = re.compile(r'="((?:[^"]|"")*)"', re.DOTALL)


def csv_rows(text: str, separator: str) -> Iterator[Record]:
    """Each row of a csv text with the line it begins on, also blank ones, but not a first line `sep=;`. A cell `="007"`
    is the text in it. Raises ProblemError at the first row that csv cannot read."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line, declared = 1, _DECLARED.match(text)
    try:
        for cells in reader:
            if not (declared and line == 1):
                yield line, [_TEXT_FORMULA.sub(_protected, cell) if cell[:1] == "=" else cell for cell in cells]
            line = reader.line_num + 1
    except csv.Error as error:
        raise ProblemError(f"line {line}: not csv ({error}); check the quotes in this row") from error


def _protected(match: re.Match[str]) -> str:
    return match[1].replace('""', '"') if match.span() == (0, len(match.string)) else match[0]


def csv_records(text: str) -> tuple[list[Record], list[str]]:
    """The rows with their first lines, up to one that csv cannot read. What spreadsheets leave behind is passed over:
    another separator, blank rows, a title above the header, and blank cells beyond it."""
    records: list[Record] = []
    faults: list[str] = []
    try:
        for line, cells in csv_rows(text, separator_of(_from_header(text), 1)):
            if any(map(str.strip, cells)):
                records.append((line, cells))
    except ProblemError as error:
        faults = [str(error)]
    if any(_filled(cells) > 1 for _, cells in records):
        while _filled(records[0][1]) == 1:
            del records[0]
    return _trimmed(records), faults


def _filled(cells: list[str]) -> int:
    return sum(bool(cell.strip()) for cell in cells)


def _from_header(text: str) -> str:
    """The text from its first line with more than one cell, by any separator; all of it without one."""
    if _DECLARED.match(text):
        return text
    found = re.search(r"^.*[,;\t|]+[^,;\t|\s].*$", text, re.MULTILINE)
    return text[found.start() :] if found else text


def _trimmed(records: list[Record]) -> list[Record]:
    """The rows without the columns after the last one with a name, as far as they are blank."""
    header = records[0][1] if records else []
    width = max((place for place, cell in enumerate(header, 1) if cell.strip()), default=0)
    return [
        (line, cells if any(map(str.strip, cells[width:])) else cells[:width] if len(cells) > width else cells)
        for line, cells in records
    ]


def separator_of(text: str, rows: int) -> str:
    """The separator by which the first `rows` rows have the most cells; first those by which every quote encloses a
    cell. One row is enough where it is the header, and better, as texts below it may hold other separators."""
    if declared := _DECLARED.match(text):
        return declared["separator"]
    strict = [one for one in SEPARATORS if _width(text, one, rows, strict=True) > 1]
    return max(strict or SEPARATORS, key=lambda one: _width(text, one, rows, strict=False))


def _width(text: str, separator: str, rows: int, *, strict: bool) -> int:
    """The cells of the widest of the first rows, on which two agree if there are two; 0 if they cannot be read."""
    widths: list[int] = []
    try:
        for cells in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=strict):
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


def by_fault(found: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each fault, with the places that have it, given (fault, place) in the file's order."""
    places: dict[str, list[str]] = {}
    for fault, place in found:
        places.setdefault(fault, []).append(place)
    return [f"{some_of(several)}: {fault}" for fault, several in places.items()]


def some_of(places: Sequence[str]) -> str:
    more = len(places) - MOST_PLACES
    return ", ".join(places[:MOST_PLACES]) + (f" and {more} more" if more > 0 else "")
