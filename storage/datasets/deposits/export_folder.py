"""The folder of an export, as it is before a deposit: checked against its checksums, and read file by file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from storage.datasets.describe.citation_files import ZENODO
from storage.datasets.describe.editable_files import EDITABLE, WRITTEN
from storage.datasets.imports.records import MOST
from storage.db.checksums import NAME, recorded, sha256_of
from storage.errors import StorageError

BOOK, METADATA = "codebook.json", "metadata.json"
AGAIN = "Export the study again with this version of Parley, into another folder."


@dataclass(frozen=True, slots=True)
class FolderColumn:
    """A column, as the codebook of the export has it. `closed` says that it has a list of allowed values."""

    name: str
    type: str
    free_text: bool
    demographic: bool
    closed: bool


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A file of rows; `person` is the column that says whose row it is, if there is one."""

    folder: Path
    path: str
    person: str
    columns: tuple[FolderColumn, ...]

    def rows(self) -> Iterator[Sequence[Any]]:
        """The rows with their cells in the order of the columns: texts of a csv, values of a JSON file."""
        file = self.folder / self.path
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
    metadata: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The title of the dataset."""
        return str(self.metadata["name"])

    @property
    def zenodo(self) -> Mapping[str, Any] | None:
        """The metadata for Zenodo's deposit API; None if the authors are not known."""
        file = self.path / ZENODO
        if not file.is_file():
            return None
        try:
            found = json.loads(file.read_bytes())
        except ValueError as error:
            raise StorageError(f"{file} is no JSON ({error}). Correct it, or export again to have it written") from None
        return found if isinstance(found, dict) else None

    @property
    def others(self) -> tuple[str, ...]:
        """Files in the folder that the export did not write, and that are not deposited."""
        there = (path.relative_to(self.path).as_posix() for path in sorted(self.path.rglob("*")) if path.is_file())
        return tuple(path for path in there if path not in self.checksums)


def open_export(folder: Path) -> ExportFolder:
    """The export in a folder; raises StorageError if it is none, or if a file was changed or is missing."""
    known = recorded(folder)
    if not known or BOOK not in known or METADATA not in known:
        raise StorageError(
            f"{folder} is not the folder of an export: it has no {NAME} that lists {BOOK} and {METADATA}. "
            "Name a folder that `parley export` wrote"
        )
    _check(folder, known)
    extra = [name for name in (NAME, WRITTEN, *EDITABLE) if (folder / name).is_file()]
    book, metadata = json.loads((folder / BOOK).read_bytes()), json.loads((folder / METADATA).read_bytes())
    return ExportFolder(
        path=folder,
        study=str(book["study"]),
        schema=str(book["schema"]),
        origins=_origins(metadata),
        files=tuple(_file(folder, entry) for entry in book["files"]),
        checksums=dict(sorted({**known, **{name: sha256_of(folder / name) for name in extra}}.items())),
        data=sha256((folder / NAME).read_bytes()).hexdigest(),
        metadata=metadata,
    )


def _check(folder: Path, known: Mapping[str, str]) -> None:
    root = folder.resolve()
    outside = [name for name in known if not (folder / name).resolve().is_relative_to(root)]
    missing = [name for name in known if name in outside or not (folder / name).is_file()]
    changed = [name for name in known if name not in missing and sha256_of(folder / name) != known[name]]
    if missing or changed:
        said = [f"{', '.join(missing)} missing"] if missing else []
        said += [f"{', '.join(changed)} changed"] if changed else []
        raise StorageError(
            f"{folder}: not as the export wrote it ({'; '.join(said)}). Nothing was deposited. Data are never edited "
            "in their folder: export again into another one, with --without or --round-down for less detail"
        )


def _file(folder: Path, entry: Mapping[str, Any]) -> FolderFile:
    if "person" not in entry or not all("free_text" in column for column in entry["columns"]):
        raise StorageError(
            f"{folder / BOOK} does not say which columns are free text: it is of an older version. {AGAIN}"
        )
    columns = (
        FolderColumn(one["name"], one["type"], one["free_text"], one["demographic"], bool(one["values"]))
        for one in entry["columns"]
    )
    return FolderFile(folder, entry["path"], entry["person"], tuple(columns))


def _origins(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    marks = [one["value"] for one in metadata.get("additionalProperty", ()) if one.get("name") == "origin"]
    return tuple(part.strip() for mark in marks for part in str(mark).split(","))
