"""Preview of exports: the data that a study has to export, and what an export would contain.

Previews are fast for running studies of any size: rows are counted up to a limit, and only the first rows of a file are
read. Filtered files are the exception: the filter reads every answer, so their rows are not counted, and their preview
takes as long as the filter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from storage import tables
from storage.datasets.exports.plan import ExportPlan, ExportRequest, FileRows, filter_files, plan_export
from storage.datasets.exports.session_filter import count_present_and_withdrawn, languages_of, values_of
from storage.datasets.manifest import SessionSelection
from storage.datasets.tidy import columns as tidy
from storage.db.engine import Database
from storage.db.recorded_schemas import recorded_schemas
from storage.log.seats import cells_of
from storage.registers.imported_rows import imports
from storage.registers.origins import ORIGINS, Origin
from storage.schemas.registry import schema as schema_of

MOST_COUNTED = 10_000
PREVIEW = 20


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The available data: schemas by origin, the default first, and the values that sessions can be filtered by."""

    schemas: Mapping[str, tuple[str, ...]]
    factors: Mapping[str, list[str]]
    languages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """`rows` is None for a filtered file; with `more` there may be further rows."""

    path: str
    columns: int
    rows: int | None
    more: bool
    of_study: bool


@dataclass(frozen=True, slots=True)
class ExportPreview:
    """`selected` is None if all sessions are included; imported ones are not counted, as that reads every row."""

    origin: str
    sessions: int | None
    files: tuple[ExpectedFile, ...]
    selected: SessionSelection | None

    @property
    def is_empty(self) -> bool:
        """True if no session has a row; what describes the study itself may be there. Tidy rows are not counted."""
        known = [file.rows for file in self.files if not file.of_study and file.rows is not None]
        return bool(known) and not any(known)


@dataclass(frozen=True, slots=True)
class FilePreview:
    path: str
    header: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def export_options(database: Database, study: str) -> ExportOptions:
    """The data that a study has to export; empty before its first session."""
    t = tables.seats.c
    with database.connect() as connection:
        came = set(connection.execute(select(t.origin).where(t.study == study).distinct()).scalars())
        holds = dict.fromkeys(came, (*recorded_schemas(connection, study), tidy.NAME))
        holds[Origin.IMPORT] = tuple(dict.fromkeys(item["schema"] for item in imports(connection, study)))
        return ExportOptions(
            schemas={origin: holds[origin] for origin in ORIGINS if holds.get(origin)},
            factors=values_of(cells_of(connection, study)),
            languages=tuple(languages_of(connection, study)),
        )


def schema_title(name: str) -> str:
    return tidy.schema().title if name == tidy.NAME else schema_of(name).title


def files(database: Database, request: ExportRequest, most: int = MOST_COUNTED) -> ExportPreview:
    """The files of an export, with rows counted up to `most`; raises StorageError."""
    with database.connect() as connection:
        return _outlook(connection, request, plan_export(connection, request), most)


def empty_schemas(database: Database, study: str, origin: str) -> list[str]:
    """The released formats of a study in which no session of an origin has a row."""
    known = export_options(database, study).schemas.get(origin, ())
    return [name for name in known if files(database, ExportRequest(study, name, origin), 1).is_empty]


def preview(database: Database, request: ExportRequest, file: str, most: int = PREVIEW) -> FilePreview:
    with database.connect() as connection:
        return _preview(connection, plan_export(connection, request).named(file), most)


def preview_export(database: Database, request: ExportRequest, file: str) -> tuple[ExportPreview, FilePreview]:
    """The files and a preview; of the first file if the named one does not exist. Raises StorageError."""
    with database.connect() as connection:
        plan = plan_export(connection, request)
        chosen = next((chosen for chosen in plan.files if chosen.path == file), plan.files[0])
        return _outlook(connection, request, plan, MOST_COUNTED), _preview(connection, chosen, PREVIEW)


def _outlook(connection: Connection, request: ExportRequest, plan: ExportPlan, most: int) -> ExportPreview:
    found = tuple(_expected(chosen, chosen.count_to(connection, most + 1), most) for chosen in plan.files)
    return ExportPreview(plan.origin, _sessions(connection, request, plan), found, plan.selected)


def _preview(connection: Connection, chosen: FileRows, most: int) -> FilePreview:
    filter_files(connection, chosen)
    rows = [tuple(row) for some in chosen.stream(connection, texts=False, most=most) for row in some]
    return FilePreview(chosen.path, tuple(column.name for column in chosen.columns), tuple(rows))


def _sessions(connection: Connection, request: ExportRequest, plan: ExportPlan) -> int | None:
    if plan.selected is not None:
        return plan.selected.number
    return (
        None if plan.origin == Origin.IMPORT else count_present_and_withdrawn(connection, request.study, plan.origin)[0]
    )


def _expected(chosen: FileRows, rows: int | None, most: int) -> ExpectedFile:
    more = rows is not None and rows > most
    return ExpectedFile(chosen.path, len(chosen.columns), most if more else rows, more, chosen.table.of_study)
