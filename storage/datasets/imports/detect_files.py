"""Match given paths to the files of a release. A folder is a release or one of its parts, and may lack some files. A
file is recognised by its name, or else by its columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from storage.datasets.imports.records import CsvReader, JsonReader, Reader
from storage.errors import BadFile
from storage.schemas.base import ReleasedTable, Schema


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    path: Path
    table: ReleasedTable
    part: str

    @property
    def released(self) -> str:
        return self.table.path(self.part)

    def open(self) -> Reader:
        return (JsonReader if self.table.file.endswith(".json") else CsvReader)(self.path)


def find_files(schema: Schema, paths: Sequence[Path]) -> list[ReleaseFile]:
    """Find the files of a release under these paths, in the release's order; raises BadFile for any other path."""
    found = [item for path in paths for item in (_in_folder(schema, path) if path.is_dir() else [_file(schema, path)])]
    order = {table.name: number for number, table in enumerate(schema.tables)}
    return sorted(found, key=lambda item: (order[item.table.name], item.table.parts.index(item.part)))


def _files(schema: Schema) -> Iterator[tuple[ReleasedTable, str]]:
    return ((table, part) for table in schema.tables for part in table.parts)


def _in_folder(schema: Schema, folder: Path) -> list[ReleaseFile]:
    name = folder.resolve().name
    found = [
        ReleaseFile(path, table, part)
        for table, part in _files(schema)
        for path in (folder / table.path(part), *([folder / table.file] if part and name == part else []))
        if path.is_file()
    ]
    if not found:
        known = ", ".join(table.path(part) for table, part in _files(schema))
        raise BadFile(f"{folder}: no file of {schema.name} is in this folder; allowed: any of {known}")
    return found


def _file(schema: Schema, path: Path) -> ReleaseFile:
    if not path.is_file():
        raise BadFile(f"{path}: there is no such file")
    named = [table for table in schema.tables if table.file == path.name]
    table = named[0] if named else _by_columns(schema, path)
    part = path.resolve().parent.name
    return ReleaseFile(path, table, part if part in table.parts else table.parts[0])


def _by_columns(schema: Schema, path: Path) -> ReleasedTable:
    """The table with the most similar columns; the schema's first table if none is similar."""
    files = [table for table in schema.tables if table.file.endswith(".json") == (path.suffix == ".json")]
    if not files:
        raise BadFile(f"{path}: {schema.name} has no {path.suffix or 'such'} file; allowed: {_names(schema)}")
    if len(files) == 1:
        return files[0]
    reader = ReleaseFile(path, files[0], "").open()
    try:
        next(reader.records(), None)
        header = set(reader.header)
    finally:
        reader.close()
    return max(files, key=lambda table: (len(header & set(table.header)), -len(set(table.header) - header)))


def _names(schema: Schema) -> str:
    return ", ".join(table.file for table in schema.tables)
