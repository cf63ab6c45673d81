"""Tables as people have them: CSV with any separator, Excel, JSON, Parquet, and folders of such files or of Markdown.

Each row keeps where it stands in its file, so that every later error can name the place. Cells are texts; a cell of
JSON or Parquet can also be a list or an object. What spreadsheets leave behind (blank rows and columns, a title above
the header, a byte order mark) is passed over, and a note says so. However a file is packed, no more is read of it than
`check_size` allows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from itertools import chain
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent

from problems.errors import ProblemError
from problems.isolation import in_child
from problems.readers import SEPARATORS, csv_rows, separator_of
from problems.text import NotText, checked, read_text

# How much is read of a file, whatever its format; the bytes are those of the file, and those that it unpacks to.
MOST_ROWS, MOST_COLUMNS, MOST_BYTES = 50_000, 500, 40_000_000
MOST_FAULTS = 50
MARKDOWN = (".md", ".markdown")
WORKBOOK = ".xlsx"
# The names by which the column of the question is recognised, as `plain_name` gives them; the first wins.
QUESTION = ("question", "text", "prompt", "problem", "stem", "item", "question_text", "question_stem", "ctx", "q")


class Unreadable(str):
    """In place of a cell: why it cannot be used."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One row: where it stands, such as `line 7`, and its cells by column; blank cells are left out."""

    where: str
    cells: Mapping[str, Any]
    faults: Mapping[str, str] = field(default_factory=dict)
    """The reason why a cell cannot be used, by column."""


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a file or folder, and notes on skipped parts and assumptions."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()
    """The sheets of the workbook, first the one that was read."""

    def to_json(self) -> dict[str, Any]:
        rows = [(row.where, row.cells, row.faults) for row in self.rows]
        return {"columns": self.columns, "rows": rows, "notes": self.notes, "sheets": self.sheets}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Table:
        rows = tuple(Row(*row) for row in data["rows"])
        return cls(tuple(data["columns"]), rows, tuple(data["notes"]), tuple(data["sheets"]))


def read_table(path: Path, sheet: str = "", question: str = "") -> Table:
    """Read a file by its ending, or a folder; of a workbook, if no sheet is named, the first with the column `question`
    or one of a usual name. Raises ProblemError with everything that cannot be read."""
    if path.is_dir():
        return _folder(path, sheet, question)
    kind = path.suffix.lower()
    if kind not in READERS:
        raise ProblemError(f"{path}: {path.suffix or 'a file without an ending'} cannot be read; allowed: {_endings()}")
    if sheet and kind != WORKBOOK:
        raise ProblemError(f"{path}: has no sheets, so leave out `sheet: {sheet}`")
    check_size(str(path), size=path.stat().st_size if path.is_file() else 0)
    return READERS[kind](path, sheet, question) if kind in NATIVE else READERS[kind](path)


def check_size(name: str, *, rows: int = 0, columns: int = 0, size: int = 0) -> None:
    """Raise ProblemError for more than is read of a file."""
    found = ((rows, MOST_ROWS, "rows"), (columns, MOST_COLUMNS, "columns"), (size, MOST_BYTES, "bytes once unpacked"))
    for number, most, what in found:
        if number > most:
            raise ProblemError(
                f"{name}: has {number:,} {what} or more; at most {most:,} are read. Leave out what the study does not "
                "need, or divide the file."
            )


def _native(path: Path, sheet: str, question: str) -> Table:
    """Read a file by a library in C, in a process of its own."""
    answer = in_child("problems.native_tables", path, sheet, question)
    if "errors" in answer:
        raise ProblemError(*(str(part).replace(str(path.absolute()), str(path)) for part in answer["errors"]))
    return Table.from_json(answer["table"])


def plain_name(name: str) -> str:
    """A column's name in the form for comparison: `Correct answer` is `correct_answer`."""
    return re.sub(r"[\s\-.]+", "_", name.strip().lower())


def refuse(headline: str, faults: Iterable[str]) -> None:
    """Raise ProblemError with the first of these faults, if there are any."""
    found = list(dict.fromkeys(faults))
    if found:
        more = [f"and {len(found) - MOST_FAULTS:,} more"] if len(found) > MOST_FAULTS else []
        raise ProblemError(headline, *found[:MOST_FAULTS], *more)


def of_objects(found: Iterable[tuple[str, object]], name: str, *, typed: bool = False) -> Table:
    """The table of objects, each with its place; raises ProblemError for what is no object. With `typed`, numbers and
    truth values are texts as YAML has them, and not as a spreadsheet shows them: 1.0, true."""
    cell = _as_typed if typed else _cell
    rows: list[Row] = []
    faults, size = [], 0
    columns: dict[str, None] = {}
    for where, value in found:
        if isinstance(value, Mapping):
            try:
                cells = {checked(str(key)): cell(given) for key, given in value.items()}
            except (NotText, RecursionError) as error:
                faults.append(f"{where}: {_unread(error)}")
                continue
            columns |= dict.fromkeys(cells)
            size += _size(cells)
            check_size(name, rows=len(rows) + 1, columns=len(columns), size=size)
            filled = {key: cell for key, cell in cells.items() if cell not in ("", [], {})}
            rows.append(_row(where, filled))
        else:
            faults.append(f'{where}: must be an object such as {{"question": "..."}}, not {value!r:.60}')
    refuse(f"{name}: cannot be read; correct these:", faults)
    return Table(tuple(columns), tuple(rows))


def _row(where: str, cells: Mapping[str, Any]) -> Row:
    faults = {name: str(cell) for name, cell in cells.items() if isinstance(cell, Unreadable)}
    return Row(where, {name: cell for name, cell in cells.items() if name not in faults}, faults)


def _size(value: Any) -> int:
    """About how many characters a cell holds."""
    parts = chain(value, value.values()) if isinstance(value, Mapping) else value
    return len(value) if isinstance(value, str) else 1 + sum(map(_size, parts))


def _as_typed(value: object) -> Any:
    """A value of a study file as a cell; the loader gives numbers only where Python spells them as they were typed."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return str(value)
        case list() | tuple():
            return [_as_typed(part) for part in value]
        case Mapping():
            return {checked(str(key)): _as_typed(part) for key, part in value.items()}
        case _:
            return _cell(value)


def _unread(error: Exception) -> str:
    """The reason why a value is no cell; the place of a character is within its text, so it is left out."""
    return error.problem if isinstance(error, NotText) else "is nested too deeply"


def _cell(value: object) -> Any:
    """A value as a cell: numbers as a person would type them, days in ISO form, nothing as a blank. Raises NotText."""
    match value:
        case None | Unreadable():
            return value or ""
        case bool():
            return "TRUE" if value else "FALSE"
        case float() if value.is_integer():
            return str(int(value))
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case date() | time():
            return value.isoformat()
        case list() | tuple():
            return [_cell(part) for part in value]
        case Mapping():
            return {checked(str(key)): _cell(part) for key, part in value.items()}
        case _:
            return checked(str(value)).strip()


def _csv(path: Path) -> Table:
    return parse_csv(read_text(path), str(path))


def parse_csv(text: str, name: str) -> Table:
    """Read rows with any separator, as cells copied from a spreadsheet; raises ProblemError that calls them `name`."""
    separator = separator_of(text, 20)
    found = of_records(Records.of(_csv_records(text, separator, name), name), name)
    told = f"cells are separated by {SEPARATORS[separator]}"
    return found if separator == "," else replace(found, notes=(told, *found.notes))


def _csv_records(text: str, separator: str, name: str) -> Iterator[tuple[str, list[str]]]:
    try:
        for line, cells in csv_rows(text, separator):
            yield f"line {line}", [cell.strip() for cell in cells]
    except ProblemError as error:
        raise ProblemError(f"{name}: {error}") from error


@dataclass(frozen=True, slots=True)
class Records:
    """The rows of a sheet or csv file that are not blank, each with its place, and how many are."""

    filled: Sequence[tuple[str, Sequence[str]]]
    blank: int

    @classmethod
    def of(cls, rows: Iterable[tuple[str, Sequence[str]]], name: str) -> Records:
        filled, blank, size = [], 0, 0
        for where, cells in rows:
            if any(cells):
                filled.append((where, cells))
                size += sum(map(len, cells))
                check_size(name, rows=len(filled), columns=sum(map(bool, cells)), size=size)
            else:
                blank += 1
        return cls(filled, blank)

    @property
    def header(self) -> int | None:
        """The row that names the columns: the first with at least two cells, if any row has as many."""
        wide = max((sum(map(bool, cells)) for _, cells in self.filled), default=0) > 1
        places = (place for place, (_, cells) in enumerate(self.filled) if not wide or sum(map(bool, cells)) > 1)
        return next(places, None)

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.header is None else tuple(name for name in self.filled[self.header][1] if name)


def of_records(records: Records, file: str) -> Table:
    start, names, faults = records.header, records.columns, []
    if start is None:
        raise ProblemError(f"{file}: is empty. The first row must name the columns, such as question and answer.")
    where, head = records.filled[start]
    faults += [f"{where}: the column {name!r} is there twice" for name in names if names.count(name) > 1]
    faults += [f"{where}: the name of a column {name}" for name in names if isinstance(name, Unreadable)]
    rows = []
    for where, cells in records.filled[start + 1 :]:
        nameless = [place for place, cell in enumerate(cells) if cell and not (place < len(head) and head[place])]
        faults += [
            f"{where}: cell {place + 1} ({cells[place]!r:.40}) has no column name above it" for place in nameless
        ]
        rows.append(_row(where, {name: cell for name, cell in zip(head, cells, strict=False) if name and cell}))
    refuse(f"{file}: cannot be read; correct these rows:", faults)
    notes = [f"{where} is a title and was passed over" for where, _ in records.filled[:start]]
    notes += [f"blank rows passed over: {records.blank}"] if records.blank else []
    return Table(names, tuple(rows), tuple(notes))


def _json_lines(path: Path) -> Table:
    # not splitlines(): that also splits at U+2028, which JSON allows inside a string
    lines = enumerate(read_text(path).split("\n"), 1)
    found = ((f"line {number}", _parsed(line, path, number)) for number, line in lines if line.strip())
    return of_objects(found, str(path))


def _json(path: Path) -> Table:
    """A list of objects, or an object that holds one."""
    notes: tuple[str, ...] = ()
    read = _parsed(read_text(path), path, 1)
    if isinstance(read, dict):
        lists = [key for key, value in read.items() if isinstance(value, list) and value and isinstance(value[0], dict)]
        key = lists[0] if len(lists) == 1 else None
        read, notes = read.get(key), (f"the items were read from {key!r}",)
    if not isinstance(read, list):
        raise ProblemError(f"{path}: must be a list of objects, [{{...}}, {{...}}]")
    table = of_objects(((f"item {number}", value) for number, value in enumerate(read, 1)), str(path))
    return replace(table, notes=(*notes, *table.notes))


def _parsed(text: str, path: Path, line: int) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {line + error.lineno - 1}, column {error.colno}"
        raise ProblemError(f"{path}: {where}: is not JSON ({error.msg})") from error
    except (RecursionError, ValueError) as error:
        raise ProblemError(f"{path}: line {line}: is nested too deeply, or has a number too long") from error


def _markdown(path: Path) -> Table:
    """A Markdown file is one row: its text, its name as the id, and the keys of its front matter."""
    text = read_text(path)
    cells: dict[str, Any] = {}
    if text.startswith("---\n") and "\n---\n" in text[3:]:
        head, text = text[4:].split("\n---\n", 1)
        try:
            yaml = YAML(typ="base", pure=True)  # texts, lists and mappings only
            if any(isinstance(event, AliasEvent) for event in yaml.parse(head)):
                raise ProblemError(f"{path}: its front matter has an alias (*), which can stand for endless texts")
            read = yaml.load(head)
        except (YAMLError, ValueError, RecursionError) as error:
            raise ProblemError(f"{path}: its front matter is not YAML ({error})") from error
        cells = read if isinstance(read, dict) else {}
    return of_objects([(path.name, {"id": path.stem, **cells, "question": text.strip()})], str(path))


# What is read in a process of its own.
NATIVE = (WORKBOOK, ".parquet")
READERS: Mapping[str, Callable[..., Table]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), _csv),
    WORKBOOK: _native,
    **dict.fromkeys((".jsonl", ".ndjson"), _json_lines),
    ".json": _json,
    ".parquet": _native,
    **dict.fromkeys(MARKDOWN, _markdown),
}


def _folder(path: Path, sheet: str, question: str) -> Table:
    """Every readable file of a folder and its folders, in the order of their names; a column `file` says which."""
    files = [file for file in sorted(path.rglob("*")) if _counts(file, path)]
    if not files:
        raise ProblemError(f"{path}: holds no file that can be read; allowed: {_endings()}")
    tables, rows_read = {}, 0
    for file in files:
        table = read_table(file, sheet if file.suffix.lower() == WORKBOOK else "", question)
        tables[str(file.relative_to(path).with_suffix(""))] = table
        rows_read += len(table.rows)
        check_size(str(path), rows=rows_read)
    several = len(files) > 1 and not all(file.suffix in MARKDOWN for file in files)
    rows = [
        replace(row, where=f"{name}, {row.where}", cells={**row.cells, "file": name}) if several else row
        for name, table in tables.items()
        for row in table.rows
    ]
    columns = dict.fromkeys(column for table in tables.values() for column in table.columns)
    notes = dict.fromkeys(f"{name}: {note}" for name, table in tables.items() for note in table.notes)
    return Table((*columns, *(("file",) if several else ())), tuple(rows), tuple(notes))


def _counts(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return file.is_file() and file.suffix.lower() in READERS and file.name != "README.md" and not hidden


def _endings() -> str:
    return ", ".join(READERS)
