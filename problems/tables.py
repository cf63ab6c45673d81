"""Tables as people have them: CSV with any separator, Excel, JSON, Parquet, and folders of such files or of Markdown.

Each row keeps where it stands in its file, so that every later error can name the place. Cells are texts; a cell of
JSON or Parquet can also be a list or an object. What spreadsheets leave behind (blank rows and columns, a title above
the header, a byte order mark) is passed over, and a note says so.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from problems.errors import ProblemError, install_line
from problems.readers import SEPARATORS, csv_rows, separator_of
from problems.text import NotText, checked, read_text

MARKDOWN = (".md", ".markdown")
DAMAGED = (
    BadZipFile,
    zlib.error,
    ParseError,
    OSError,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,
)
"""What reading a damaged archive of XML raises."""
_EXCEL_ESCAPE = re.compile("_x00([01][0-9A-F])_")
"""A control character in a text, as ECMA-376 part 1, 22.9.2.19 (ST_Xstring) escapes it; `openpyxl` leaves it so."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: where it stands, such as `line 7`, and its cells by column; blank cells are left out."""

    where: str
    cells: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a file or folder, and what was passed over or assumed in reading it."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def read_table(path: Path) -> Table:
    """Read a file by its ending, or a folder; raises ProblemError with everything that cannot be read."""
    if path.is_dir():
        return _folder(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ProblemError(f"{path}: {path.suffix or 'a file without an ending'} cannot be read; allowed: {_endings()}")
    return reader(path)


def of_objects(found: Iterable[tuple[str, object]], name: str, *, typed: bool = False) -> Table:
    """The table of objects, each with its place; raises ProblemError for what is no object. With `typed`, numbers and
    truth values are texts as YAML has them, and not as a spreadsheet shows them: 1.0, true."""
    cell = _as_typed if typed else _cell
    rows, faults = [], []
    columns: dict[str, None] = {}
    for where, value in found:
        if isinstance(value, Mapping):
            try:
                cells = {checked(str(key)): cell(given) for key, given in value.items()}
            except (NotText, RecursionError) as error:
                faults.append(f"{where}: {_unread(error)}")
                continue
            columns |= dict.fromkeys(cells)
            rows.append(Row(where, {key: cell for key, cell in cells.items() if cell not in ("", [], {})}))
        else:
            faults.append(f'{where}: must be an object such as {{"question": "..."}}, not {value!r:.60}')
    if faults:
        raise ProblemError(f"{name}: cannot be read; correct these:", *faults)
    return Table(tuple(columns), tuple(rows))


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
    """Why a value is no cell; the place of a character is within its text, so it is left out."""
    return error.problem if isinstance(error, NotText) else "is nested too deeply"


def _cell(value: object) -> Any:
    """A value as a cell: numbers as a person would type them, days in ISO form, nothing as a blank. Raises NotText."""
    match value:
        case None:
            return ""
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
    """Read a text of rows with any separator, such as cells copied from a spreadsheet; raises ProblemError, which
    calls the text by this name."""
    separator = separator_of(text, 20)
    try:
        records = [(f"line {line}", [cell.strip() for cell in cells]) for line, cells in csv_rows(text, separator)]
    except ProblemError as error:
        raise ProblemError(f"{name}: {error}") from error
    found = _of_records(records, name)
    told = f"cells are separated by {SEPARATORS[separator]}"
    return found if separator == "," else replace(found, notes=(told, *found.notes))


def _of_records(records: Sequence[tuple[str, list[str]]], file: str) -> Table:
    """The table below its header: the first row with at least two cells, if any row has as many."""
    filled = [(where, cells) for where, cells in records if any(cells)]
    wide = max((sum(map(bool, cells)) for _, cells in filled), default=0) > 1
    start = next((place for place, (_, cells) in enumerate(filled) if not wide or sum(map(bool, cells)) > 1), None)
    if start is None:
        raise ProblemError(f"{file}: is empty. The first row must name the columns, such as question and answer.")
    head, rows, faults = filled[start][1], [], []
    names = [name for name in head if name]
    faults += [f"{filled[start][0]}: the column {name!r} is there twice" for name in names if names.count(name) > 1]
    for where, cells in filled[start + 1 :]:
        nameless = [place for place, cell in enumerate(cells) if cell and not (place < len(head) and head[place])]
        faults += [
            f"{where}: cell {place + 1} ({cells[place]!r:.40}) has no column name above it" for place in nameless
        ]
        rows.append(Row(where, {name: cell for name, cell in zip(head, cells, strict=False) if name and cell}))
    if faults:
        raise ProblemError(f"{file}: cannot be read; correct these rows:", *dict.fromkeys(faults))
    notes = [f"{where} is a title and was passed over" for where, _ in filled[:start]]
    blank = len(records) - len(filled)
    notes += [f"blank rows passed over: {blank}"] if blank else []
    return Table(tuple(names), tuple(rows), tuple(notes))


def _excel(path: Path) -> Table:
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise ProblemError(f"{path}: Excel files need a package. Run: {install_line('excel')}") from None
    try:
        book = load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()
        raw = list(enumerate(sheet.iter_rows(values_only=True), 1))
    except (InvalidFileException, *DAMAGED) as error:
        raise ProblemError(
            f"{path}: is no Excel file, or damaged ({error}). Save it as .xlsx, or as CSV UTF-8."
        ) from error
    records, faults = [], []
    for number, values in raw:
        try:
            records.append((f"row {number}", [str(_excel_cell(value)) for value in values]))
        except NotText as error:
            faults.append(f"row {number}: {_unread(error)}")
    if faults:
        raise ProblemError(f"{path}: cannot be read; correct these rows:", *faults)
    found = _of_records(records, str(path))
    others = len(book.worksheets) - 1
    return replace(found, notes=(f"only the first sheet, {sheet.title!r}, was read", *found.notes)) if others else found


def _excel_cell(value: object) -> Any:
    """A cell as `_cell`, with the control characters that Excel escapes in its files."""
    return _cell(_EXCEL_ESCAPE.sub(lambda match: chr(int(match[1], 16)), value) if isinstance(value, str) else value)


def _json_lines(path: Path) -> Table:
    # not splitlines(): that also splits at U+2028, which JSON allows inside a string
    lines = enumerate(read_text(path).split("\n"), 1)
    return of_objects(
        ((f"line {number}", _parsed(line, path, number)) for number, line in lines if line.strip()), f"{path}"
    )


def _json(path: Path) -> Table:
    read = _parsed(read_text(path), path, 1)
    if not isinstance(read, list):
        raise ProblemError(f"{path}: must be a list of objects, [{{...}}, {{...}}]")
    return of_objects(((f"item {number}", value) for number, value in enumerate(read, 1)), str(path))


def _parsed(text: str, path: Path, line: int) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {line + error.lineno - 1}, column {error.colno}"
        raise ProblemError(f"{path}: {where}: is not JSON ({error.msg})") from error
    except (RecursionError, ValueError) as error:
        raise ProblemError(f"{path}: line {line}: is nested too deeply, or has a number too long") from error


def _parquet(path: Path) -> Table:
    """Parquet, or the Arrow stream that `datasets.save_to_disk` writes; class labels are read as their names."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        from pyarrow import ipc, parquet
    except ImportError:
        raise ProblemError(f"{path}: {path.suffix} files need a package. Run: {install_line('parquet')}") from None
    try:
        if path.suffix.lower() == ".parquet":
            table = parquet.read_table(path)
        else:
            with pa.memory_map(str(path)) as file:
                table = ipc.open_stream(file).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise ProblemError(f"{path}: cannot be read as {path.suffix} ({error})") from error
    labels = _class_labels(table.schema.metadata or {})
    rows = ({name: _label(labels.get(name), value) for name, value in row.items()} for row in table.to_pylist())
    return of_objects(((f"row {number}", row) for number, row in enumerate(rows, 1)), str(path))


def _class_labels(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    """The names of Hugging Face's class labels by column."""
    features = json.loads(metadata.get(b"huggingface", b"{}")).get("info", {}).get("features", {})
    labelled = {name: one for name, one in features.items() if isinstance(one, dict) and "names" in one}
    return {name: list(one["names"]) for name, one in labelled.items()}


def _label(names: list[str] | None, value: Any) -> Any:
    """The name of a class label; -1 stands for an unknown one."""
    if names is None or value is None:
        return value
    return names[value] if 0 <= value < len(names) else None


def _markdown(path: Path) -> Table:
    """A Markdown file is one row: its text, its name as the id, and the keys of its front matter."""
    text = read_text(path)
    cells: dict[str, Any] = {}
    if text.startswith("---\n") and "\n---\n" in text[3:]:
        head, text = text[4:].split("\n---\n", 1)
        try:
            read = YAML(typ="base", pure=True).load(head)  # texts, lists and mappings only
        except YAMLError as error:
            raise ProblemError(f"{path}: its front matter is no YAML ({error})") from error
        cells = read if isinstance(read, dict) else {}
    return of_objects([(path.name, {"id": path.stem, **cells, "question": text.strip()})], str(path))


READERS: Mapping[str, Callable[[Path], Table]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), _csv),
    ".xlsx": _excel,
    **dict.fromkeys((".jsonl", ".ndjson"), _json_lines),
    ".json": _json,
    **dict.fromkeys((".parquet", ".arrow"), _parquet),
    **dict.fromkeys(MARKDOWN, _markdown),
}
ABOUT = ("README.md", "dataset_info.json", "state.json", "dataset_dict.json")
"""Files that describe a folder and are no items: a README, and those of `datasets.save_to_disk`."""


def _folder(path: Path) -> Table:
    """Every readable file of a folder and its folders, in the order of their names; a column `file` says which."""
    files = [file for file in sorted(path.rglob("*")) if _counts(file, path)]
    if not files:
        raise ProblemError(f"{path}: holds no file that can be read; allowed: {_endings()}")
    tables = {str(file.relative_to(path).with_suffix("")): read_table(file) for file in files}
    several = len(files) > 1 and not all(file.suffix in MARKDOWN for file in files)
    rows = [
        Row(f"{name}, {row.where}" if several else row.where, {**row.cells, **({"file": name} if several else {})})
        for name, table in tables.items()
        for row in table.rows
    ]
    columns = dict.fromkeys(column for table in tables.values() for column in table.columns)
    notes = dict.fromkeys(f"{name}: {note}" for name, table in tables.items() for note in table.notes)
    return Table((*columns, *(("file",) if several else ())), tuple(rows), tuple(notes))


def _counts(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return file.is_file() and file.suffix.lower() in READERS and file.name not in ABOUT and not hidden


def _endings() -> str:
    return ", ".join(READERS)
