"""Import and validate the files of a release in one transaction: a single deviation, or a contradiction to recorded
data, prevents it. Importing a file again changes nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from experiments.plural import count
from storage.datasets.imports.detect_files import ReleaseFile, find_files
from storage.datasets.imports.recorder import FileRecorder, Recorder
from storage.datasets.imports.records import CellDeviation, Reader
from storage.datasets.imports.validate import ValidatedRows
from storage.db.engine import Database, writer
from storage.errors import BadFile, StorageError
from storage.schemas.base import ReleasedRow
from storage.schemas.registry import schema as schema_of

STUDY_NAME = "[A-Za-z][A-Za-z0-9_-]{0,59}"
AT_ONCE = 1_000
MOST_TOLD = 20
# An import stops counting deviations at this number; a check reports all of them.
MOST_COUNTED = 1_000

# Progress callback, called repeatedly with the file being read and the number of bytes read.
Progress = Callable[[Path, int], None]


@dataclass(frozen=True, slots=True)
class Imported:
    """The result for a file: the number of rows, and how many of them were new, if they were not only read."""

    path: Path
    released: str
    rows: int
    new: int = 0


def import_files(
    database: Database, schema: str, paths: Sequence[Path], study: str, progress: Progress = lambda path, done: None
) -> list[Imported]:
    """Record the files of a release, or none: raises BadFile with the first deviations, or StorageError."""
    if not re.fullmatch(STUDY_NAME, study):
        raise StorageError(
            f"{study!r} is not a valid study name; allowed: a letter, then up to 59 letters, digits, - or _"
        )
    found = find_files(schema_of(schema), paths)
    faults: list[CellDeviation] = []
    try:
        with writer(database) as connection, connection.begin():
            recorder = Recorder(connection, schema_of(schema), study)
            done = [_import(recorder, item, faults, progress) for item in found]
            if faults:
                raise _bad(schema, faults)
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", error)
        raise StorageError(f"the database cannot take the rows of {study!r}: {cause}; nothing was imported") from error
    return done


def _bad(schema: str, deviations: list[CellDeviation]) -> BadFile:
    more = [f"... `parley import {schema} --check` lists them all"] if len(deviations) > MOST_TOLD else []
    least = "at least " if len(deviations) >= MOST_COUNTED else ""
    return BadFile(
        f"{least}{count(len(deviations), 'deviation')} from {schema}; nothing was imported",
        *deviations[:MOST_TOLD],
        *more,
    )


def _import(
    recorder: Recorder, release_file: ReleaseFile, deviations: list[CellDeviation], progress: Progress
) -> Imported:
    reader = release_file.open()
    try:
        file, checked = FileRecorder(recorder, release_file), ValidatedRows(release_file, reader)
        rows = iter(checked)
        while len(deviations) < MOST_COUNTED and (batch := list(islice(rows, AT_ONCE))):
            deviations += [item for item in batch if isinstance(item, CellDeviation)]
            if not deviations:
                deviations += file.record([item for item in batch if isinstance(item, ReleasedRow)])
            progress(release_file.path, reader.bytes_read)
        if not deviations and (file.new or file.first):
            recorder.imported(
                release_file, reader.header or release_file.table.header, checked.rows, file.new, reader.sha256
            )
        return Imported(release_file.path, release_file.released, checked.rows, file.new)
    finally:
        reader.close()


def deviations(
    schema: str, paths: Sequence[Path], progress: Progress = lambda path, done: None, *, rules: bool = True
) -> Iterator[CellDeviation | Imported]:
    """Yield each file's deviations, then its result; with `rules` also those between cells, which imports accept."""
    for found in find_files(schema_of(schema), paths):
        reader: Reader = found.open()
        try:
            rows = ValidatedRows(found, reader, rules=rules)
            for item in rows:
                if isinstance(item, CellDeviation):
                    yield item
                elif item.seq % AT_ONCE == 0:
                    progress(found.path, reader.bytes_read)
            yield Imported(found.path, found.released, rows.rows)
        finally:
            reader.close()
