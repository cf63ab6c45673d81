"""The folder of an export as it was written, and the gate before its deposit.

The gate finds what in an export may reveal who took part. A finding is resolved if somebody has looked at each of its
columns and said so (a Decision), or if the column is no longer in the export. Nothing is changed here: columns are left
out by a new export. Decisions and deposits are recorded in `FOLDER.deposits.json`, beside the export and not
in it, because it has names of reviewers. The record has no token and no value of the data.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from experiments.errors import suggestion
from storage.datasets.describe.export_folder import EDITABLE, WRITTEN
from storage.datasets.exports.personal_data import personal_data_in
from storage.datasets.imports.records import MOST
from storage.datasets.tidy.columns import NAME as TIDY
from storage.db.checksums import NAME, recorded, sha256_of
from storage.db.private_files import writing
from storage.errors import StorageError
from storage.registers.origins import SIMULATED

BOOK, METADATA = "codebook.json", "metadata.json"


class FolderColumn(BaseModel):
    name: str
    free_text: bool
    demographic: bool


class FolderFile(BaseModel):
    """A file of rows; `person` is the column that says whose row it is, if there is one."""

    path: str
    person: str
    columns: tuple[FolderColumn, ...]

    def rows(self, folder: Path) -> Iterator[Sequence[Any]]:
        """The rows with their cells in the order of the columns: texts of a csv, values of a JSON file."""
        file = folder / self.path
        if file.suffix == ".json":
            names = [column.name for column in self.columns]
            yield from ([row.get(name) for name in names] for row in json.loads(file.read_bytes()))
            return
        csv.field_size_limit(MOST)
        with file.open(encoding="utf-8-sig", newline="") as opened:
            rows = csv.reader(opened)
            next(rows, None)
            yield from rows


@dataclass(frozen=True, slots=True)
class ExportFolder:
    """An export that is as it was written. `files` are its tables; `checksums` are the SHA-256 of all files that are
    deposited, by their paths; `data` is a digest of those that nobody edits, by which a deposit knows its export."""

    path: Path
    study: str
    schema: str
    origins: tuple[str, ...]
    files: tuple[FolderFile, ...]
    checksums: Mapping[str, str]
    data: str


def open_export(folder: Path) -> ExportFolder:
    """The export in a folder; raises StorageError if a file was changed or is missing, or if it holds no export."""
    known, root = recorded(folder), folder.resolve()
    if not {BOOK, METADATA} <= known.keys():
        raise StorageError(f"{folder} is not the folder of an export. Name a folder that `parley export` wrote")
    inside = {name for name in known if (folder / name).resolve().is_relative_to(root) and (folder / name).is_file()}
    changed = [name for name in known if name not in inside or sha256_of(folder / name) != known[name]]
    if changed:
        raise StorageError(
            f"{folder}: changed or missing since the export: {', '.join(changed)}. Data are never edited in their "
            "folder: export again into another one, with --without for less"
        )
    book, metadata = json.loads((folder / BOOK).read_bytes()), json.loads((folder / METADATA).read_bytes())
    origins = [one["value"] for one in metadata.get("additionalProperty", ()) if one.get("name") == "origin"]
    extra = [name for name in (NAME, WRITTEN, *EDITABLE) if (folder / name).is_file()]
    return ExportFolder(
        path=folder,
        study=str(book["study"]),
        schema=str(book["schema"]),
        origins=tuple(part.strip() for mark in origins for part in str(mark).split(",")),
        files=tuple(FolderFile.model_validate(entry) for entry in book["files"]),
        checksums=dict(sorted({**known, **{name: sha256_of(folder / name) for name in extra}}.items())),
        data=sha256((folder / NAME).read_bytes()).hexdigest(),
    )


class Decision(BaseModel, extra="forbid", frozen=True):
    """Columns of the data with this digest can be published, or describe participants; `at` is ISO 8601 in UTC."""

    data: str
    by: str
    at: str
    reviewed: tuple[str, ...] = ()
    demographics: tuple[str, ...] | None = None


class Deposit(BaseModel, extra="forbid", frozen=True):
    """A deposit at a server; `data` is empty until an upload is complete."""

    to: str
    server: str
    id: str
    url: str
    doi: str = ""
    data: str = ""
    published: bool = False


class Record(BaseModel, extra="forbid", frozen=True):
    decisions: tuple[Decision, ...] = ()
    deposits: tuple[Deposit, ...] = ()


def record_file(folder: Path) -> Path:
    folder = folder.resolve()
    return folder.with_name(f"{folder.name}.deposits.json")


def read_record(folder: Path) -> Record:
    """The record of an export; an empty one if there is none. Raises StorageError for a file that is damaged."""
    file = record_file(folder)
    try:
        return Record.model_validate_json(file.read_bytes()) if file.is_file() else Record()
    except ValidationError as error:
        raise StorageError(f"{file} is damaged: {error}. Restore it: it records the deposits of this export") from None


def write_record(folder: Path, record: Record) -> None:
    with writing(record_file(folder)) as file:
        file.write(record.model_dump_json(indent=2, exclude_defaults=True).encode() + b"\n")


def decide(export: ExportFolder, decision: Decision) -> GateReport:
    record = read_record(export.path)
    record = record.model_copy(update={"decisions": (*record.decisions, decision)})
    report = examine(export, record.decisions)
    write_record(export.path, record)
    return report


# How many people must share a combination of demographic values. Cells below 5 are what most rules for statistical
# disclosure control suppress.
THRESHOLD = 5
# Combinations of up to so many columns are searched for small cells, besides all columns together.
MOST_TOGETHER = 3
# What says that no column describes the participants.
NONE = "none"
Kind = Literal["personal data", "free text", "small cells", "demographics"]


@dataclass(frozen=True, slots=True)
class GateFinding:
    """Something that may reveal who took part; `reviews` say who decided about each column, and when."""

    kind: Kind
    columns: tuple[str, ...]
    detail: str
    reviews: Mapping[str, str] = field(default_factory=dict)

    @property
    def resolved(self) -> bool:
        return bool(self.columns) and {*self.columns} <= self.reviews.keys()


@dataclass(frozen=True, slots=True)
class GateReport:
    """`k` is the k-anonymity of `people` by demographic columns, if any; `simulated`: no person took part."""

    demographics: tuple[str, ...] = ()
    people: int = 0
    k: int | None = None
    findings: tuple[GateFinding, ...] = ()
    simulated: bool = False

    @property
    def open(self) -> tuple[GateFinding, ...]:
        return tuple(finding for finding in self.findings if not finding.resolved)


def examine(export: ExportFolder, decisions: Sequence[Decision] = ()) -> GateReport:
    """Examine an export, with the decisions about its data. Demographic columns are those that the schema marks, and
    those of the last decision about them. Raises StorageError for a column that is not there."""
    decisions = [one for one in decisions if one.data == export.data]
    reviews = {column: f"{one.by}, {one.at[:10]}" for one in decisions for column in one.reviewed}
    said = next((one.demographics for one in reversed(decisions) if one.demographics is not None), None)
    named = tuple(one for one in said or () if one != NONE)
    names = {column.name for file in export.files for column in file.columns}
    for one in (*named, *reviews):
        if one not in names:
            raise StorageError(f"{export.path}: no file of this export has a column {one!r}{suggestion(one, names)}")
    if {*export.origins} and {*export.origins} <= {*SIMULATED}:
        return GateReport(simulated=True)
    marked = (column.name for file in export.files for column in file.columns if column.demographic)
    columns = tuple(dict.fromkeys((*marked, *named)))
    people = _people(export, columns)
    found = [*_texts(export), *_small_cells(columns, people)]
    if said is None and export.schema == TIDY:
        found.append(GateFinding("demographics", (), "not known which columns describe people"))
    found = [replace(one, reviews={name: reviews[name] for name in one.columns if name in reviews}) for one in found]
    # Samarati and Sweeney 1998, SRI-CSL-98-04: how many share the rarest combination of all values
    k = min(Counter(people).values(), default=0) if columns else None
    return GateReport(columns, len(people), k, tuple(found))


def _texts(export: ExportFolder) -> Iterator[GateFinding]:
    """A finding for each column of free text with cells, and another if there are personal data in it."""
    personal: dict[str, Counter[str]] = {}
    for file in export.files:
        free = [(number, column.name) for number, column in enumerate(file.columns) if column.free_text]
        for row in file.rows(export.path) if free else ():
            for number, name in free:
                if row[number] not in (None, ""):
                    personal.setdefault(name, Counter()).update(personal_data_in(row[number]))
    for name, kinds in personal.items():
        if kinds:
            counts = ", ".join(f"{number:,} × {kind}" for kind, number in sorted(kinds.items()))
            yield GateFinding("personal data", (name,), counts)
        yield GateFinding("free text", (name,), "written by people or models")


def _small_cells(columns: Sequence[str], people: Sequence[tuple[str, ...]]) -> Iterator[GateFinding]:
    """The combinations of columns with values that few people share, the smallest first. One that contains another is
    left out, as it has small cells in any case, except for all columns together."""
    sizes = [*range(1, min(MOST_TOGETHER, len(columns)) + 1), *([len(columns)] if len(columns) > MOST_TOGETHER else [])]
    small: list[set[int]] = []
    for places in (one for size in sizes for one in combinations(range(len(columns)), size)):
        if len(places) < len(columns) and any(one < {*places} for one in small):
            continue
        counts = Counter(tuple(person[place] for place in places) for person in people)
        rare = [number for number in counts.values() if number < THRESHOLD]
        if rare:
            small.append({*places})
            detail = f"{len(rare):,} shared by fewer than {THRESHOLD} people, {sum(rare):,} in all"
            yield GateFinding("small cells", tuple(columns[place] for place in places), detail)


def _people(export: ExportFolder, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The values of each person, as the first row that has one states it; not from files that name nobody."""
    known: dict[str, dict[str, str]] = {}
    for file in export.files:
        places = {column.name: number for number, column in enumerate(file.columns)}
        there = [name for name in columns if name in places]
        for row in file.rows(export.path) if there and file.person in places else ():
            values = known.setdefault(str(row[places[file.person]]), {})
            for name in there:
                cell = row[places[name]]
                values[name] = values.get(name) or ("" if cell is None else str(cell))
    return [tuple(values.get(name, "") for name in columns) for values in known.values()]
