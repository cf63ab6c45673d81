"""Workbooks of Excel: which sheet holds the items, and its cells as the sheet shows them.

What a sheet shows and a table cannot hold is noted or is a fault of its cell: errors, formulas that were never
calculated, number formats but the plainest, the forms of days.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError, iterparse
from zipfile import BadZipFile, ZipFile

from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.reader.excel import ExcelReader
from openpyxl.utils.exceptions import InvalidFileException

from problems.errors import ProblemError, did_you_mean
from problems.tables import QUESTION, Records, Table, Unreadable, check_size, of_records, plain_name
from problems.text import NotText, checked

# What reading a damaged archive of XML raises.
DAMAGED = (
    *(BadZipFile, InvalidFileException, ParseError, zlib.error),
    *(AttributeError, EOFError, LookupError, OSError, OverflowError, RuntimeError, TypeError, ValueError),
)
# A control character in a text, as ECMA-376 part 1, 22.9.2.19 (ST_Xstring) escapes it; `openpyxl` leaves it so.
_ESCAPE = re.compile("_x00([01][0-9A-F])_")
NOT_CALCULATED = Unreadable("is a formula without a value. Open the file in Excel or LibreOffice, and save it")
_FORMAT = re.compile(r"(?P<thousands>#,##)?0(?:\.(?P<decimals>0+))?(?P<percent>%?)")
# Numbers from here on have more digits than a sheet keeps.
LARGEST = 10**15
# A sheet has no more rows, whatever number a damaged one gives to its last.
LAST_ROW = 2**20
# In how many rows the names of the columns are looked for, to find the sheet with the questions.
FIRST = 100
# How many rows are listed in a note.
SEVERAL = 20


def read_workbook(path: Path, sheet: str, question: str) -> Table:
    """Read the named sheet; without a name the first one with a column for the question. Raises ProblemError."""
    try:
        with ZipFile(path) as archive:
            check_size(str(path), size=sum(part.file_size for part in archive.infolist()))
        reader = ExcelReader(path, read_only=True, data_only=True)
        reader.read()
        book = Book(reader, path)
        return book.table(book.named(sheet) if sheet else book.found(question))
    except DAMAGED as error:
        raise ProblemError(
            f"{path}: is no Excel file, or damaged ({error}). Save it as .xlsx, or as CSV UTF-8."
        ) from error


class Book:
    def __init__(self, reader: ExcelReader, path: Path) -> None:
        self._reader, self._path = reader, path
        self._sheets = {sheet.title: sheet for sheet in reader.wb.worksheets}
        self._parts = {sheet.name: relation.target for sheet, relation in reader.parser.find_sheets()}

    def named(self, name: str) -> str:
        if name not in self._sheets:
            there = f"there are: {', '.join(self._sheets)}.{did_you_mean(name, self._sheets)}"
            raise ProblemError(f"{self._path}: columns.sheet: there is no sheet {name!r}; {there}")
        return name

    def found(self, question: str) -> str:
        """The first sheet with the column of the question; without one the first with two columns, or the first."""
        shown = [name for name, sheet in self._sheets.items() if sheet.sheet_state == "visible"] or [*self._sheets]
        columns = {name: self._columns(name) for name in shown} if len(shown) > 1 else {}
        asked = (name for name, there in columns.items() if _asks(there, question))
        wide = (name for name, there in columns.items() if len(there) > 1)
        return next(asked, None) or next(wide, None) or shown[0]

    def _columns(self, name: str) -> tuple[str, ...]:
        """The columns of a sheet, as its first rows show them."""
        return Sheet(islice(self._rows(name), FIRST), (), str(self._path)).records.columns

    def _rows(self, name: str) -> Iterator[Sequence[Any]]:
        self._sheets[name].reset_dimensions()
        return islice(self._sheets[name].iter_rows(), LAST_ROW)

    def table(self, name: str) -> Table:
        with self._reader.archive.open(self._parts[name]) as xml:
            about = SheetXml.of(xml)
        sheet = Sheet(self._rows(name), about.not_calculated, str(self._path))
        table = of_records(sheet.records, str(self._path))
        others = [other for other in self._sheets if other != name]
        told = (
            f"the sheet {name!r} was read, and not {', '.join(map(repr, others))}; another: `columns: {{sheet: NAME}}`"
        )
        notes = [told] if others else []
        return replace(table, notes=(*notes, *sheet.notes, *about.notes, *table.notes), sheets=(name, *others))


def _asks(columns: Sequence[str], question: str) -> bool:
    return question in columns if question else any(plain_name(name) in QUESTION for name in columns)


@dataclass(slots=True)
class SheetXml:
    """Facts that `openpyxl` omits while it reads row by row: formulas without a value, hidden rows and columns."""

    not_calculated: set[str] = field(default_factory=set)
    rows: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, xml: Any) -> SheetXml:
        found = cls()
        for _, element in iterparse(xml):  # noqa: S314  # expat refuses entities that unfold without end
            kind, hidden = element.tag.rpartition("}")[2], element.get("hidden") in ("1", "true")
            if kind == "c" and element.get("t") != "str" and element.find("{*}f") is not None:
                if not element.findtext("{*}v"):
                    found.not_calculated.add(element.get("r", ""))
            elif kind == "col" and hidden:
                first, last = element.get("min", ""), element.get("max", "")
                found.columns.append(first if first == last else f"{first} to {last}")
            elif kind == "row":
                found.rows += [element.get("r", "")] if hidden else []
                element.clear()
        return found

    @property
    def notes(self) -> list[str]:
        hidden = (("row", self.rows), ("column", self.columns))
        return [f"hidden, and read as well: {_listed(what, some)}" for what, some in hidden if some]


class Sheet:
    def __init__(self, rows: Iterator[Sequence[Any]], not_calculated: Collection[str], name: str) -> None:
        self._not_calculated = not_calculated
        self._said: dict[str, list[str]] = {}
        """Messages about cells, and the cells."""
        self.records = Records.of(((f"row {at}", self._row(cells)) for at, cells in enumerate(rows, 1)), name)

    @property
    def notes(self) -> list[str]:
        return [f"{_listed('cell', cells)}: {said}" for said, cells in self._said.items()]

    def _row(self, cells: Sequence[Any]) -> list[str]:
        read = [self._cell(cell) for cell in cells]
        while read and not read[-1]:
            del read[-1]
        return read

    def _cell(self, cell: Any) -> str:
        if cell.value is None:
            known = self._not_calculated
            return NOT_CALCULATED if known and isinstance(cell, ReadOnlyCell) and cell.coordinate in known else ""
        if cell.data_type == "e":
            return Unreadable(f"is {cell.value}, an error in the sheet. Correct it there")
        match cell.value:
            case bool():
                return str(cell.value).upper()
            case int() | float():
                return self._number(cell, cell.value)
            case date() | time() | timedelta():
                return self._moment(cell, cell.value)
            case _:
                pass
        try:
            return checked(_ESCAPE.sub(lambda match: chr(int(match[1], 16)), str(cell.value))).strip()
        except NotText as error:
            return Unreadable(f"has a character that cannot be used: {error.problem}")

    def _number(self, cell: ReadOnlyCell, value: float) -> str:
        code = cell.number_format
        shown = number_text(value, code)
        if shown is None:
            shown = number_text(value, "General") or ""
            told = f"the number format {code!r} is not known here, so the plain number was read; CSV has what is shown"
            self._say(told, cell)
        return shown

    def _moment(self, cell: ReadOnlyCell, value: date | time | timedelta) -> str:
        self._say("is read in ISO form, as 2026-03-01; for another, format the cell as text and type it", cell)
        return str(value).removesuffix(" 00:00:00")

    def _say(self, said: str, cell: ReadOnlyCell) -> None:
        self._said.setdefault(said, []).append(cell.coordinate)


def number_text(value: float, code: str) -> str | None:
    """A number as a format shows it (ECMA-376 part 1, 18.8.31): fixed decimals, thousands, percent; None for others."""
    if code in ("General", "@"):
        return str(int(value)) if value == int(value) and abs(value) < LARGEST else f"{value:.15G}"
    if (found := _FORMAT.fullmatch(code)) is None or abs(value) >= LARGEST:
        return None
    exact = Decimal(f"{value:.15g}").scaleb(2 * len(found["percent"]))
    rounded = exact.quantize(Decimal(1).scaleb(-len(found["decimals"] or "")), ROUND_HALF_UP)
    return f"{rounded:{',' if found['thousands'] else ''}f}{found['percent']}"


def _listed(what: str, found: Sequence[str]) -> str:
    more = f" and {len(found) - SEVERAL:,} more" if len(found) > SEVERAL else ""
    return f"{what}{'s' if len(found) > 1 else ''} {', '.join(found[:SEVERAL])}{more}"
