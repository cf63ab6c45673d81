"""Plan an export: the origin of its sessions, its files, and their rows. Nothing is written here.

Participants' sessions are exported unless a study has none, or another origin is requested. Imported data are exported
as the files that were imported, with their columns in their order, followed by annotations made since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from experiments.errors import suggestion
from storage.ai_alone.answers import asked_alone
from storage.columns import Column
from storage.datasets.exports.chatbench_filter import ATTENTION, passing_filter, sessions_passing_filter
from storage.datasets.exports.rows import RowSelection
from storage.datasets.exports.session_filter import ALL, FilterResult, SessionFilter, filter_sessions
from storage.datasets.exports.session_rows import SessionRows
from storage.datasets.manifest import FilterStep, SessionSelection
from storage.datasets.tidy import columns as tidy
from storage.db.recorded_schemas import recorded_schemas
from storage.errors import StorageError
from storage.registers.imported_rows import imports
from storage.registers.origins import Origin, origins
from storage.registers.studies import Studies
from storage.schemas.base import Schema
from storage.schemas.registry import schema as schema_of


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """`safe` escapes cells that a spreadsheet would run. `part` is a folder of the release: an imported release is
    restricted to it, and a study's own sessions are written as it. `mask` masks personal data in free text
    (exports/personal_data.py). `without` are columns to leave out of every file; the card names them."""

    study: str
    schema: str
    origin: str | None = None
    safe: bool = False
    selection: SessionFilter = ALL
    part: str = ""
    mask: bool = False
    without: tuple[str, ...] = ()


# The rows of a file: read from a released table, or made from the event log for the tidy export.
FileRows = RowSelection | SessionRows


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """The files of an export and their sources. `passing` is None if all sessions of the origin are included."""

    schema: Schema
    origin: str
    files: tuple[FileRows, ...]
    sources: tuple[Mapping[str, Any], ...] = ()
    passing: FilterResult | None = None

    @property
    def selected(self) -> SessionSelection | None:
        return self.passing.selected if self.passing else None

    def named(self, file: str) -> FileRows:
        """Get a file by path within the export or by name; the first for an empty text. Raises StorageError."""
        files = {chosen.path: chosen for chosen in self.files}
        path = next((path for path in files if not file or file in (path, Path(path).name)), None)
        if path is None:
            raise StorageError(f"the export has no file {file!r}{suggestion(file, files)}")
        return files[path]


def plan_export(connection: Connection, request: ExportRequest) -> ExportPlan:
    """Plan an export; a StorageError names what can be exported instead."""
    plan = _plan(connection, request)
    if not request.without:
        return plan
    known = {column.name for chosen in plan.files for column in chosen.columns}
    for name in request.without:
        if name not in known:
            raise StorageError(f"--without {name}: no file of this export has this column{suggestion(name, known)}")
    files = (_less(chosen, request.without) for chosen in plan.files)
    return replace(plan, files=tuple(chosen for chosen in files if chosen.columns))


def _less(chosen: FileRows, without: tuple[str, ...]) -> FileRows:
    columns = tuple(column for column in chosen.columns if column.name not in without)
    if isinstance(chosen, SessionRows):
        return replace(chosen, columns=columns, without=without)
    return replace(chosen, columns=columns)


def _plan(connection: Connection, request: ExportRequest) -> ExportPlan:
    if request.schema == tidy.NAME:
        return _tidy(connection, request)
    schema = schema_of(request.schema)
    if request.part and request.part not in schema.parts:
        known = suggestion(request.part, schema.parts) if schema.parts else ""
        raise StorageError(f"{schema.name} has no part {request.part!r}{known}")
    origin = _origin(connection, request)
    if origin != Origin.IMPORT:
        return _own(connection, schema, request, origin)
    if request.selection != ALL:
        raise StorageError(
            f"{request.study!r} was imported: a release does not have conditions, start times, outcomes, languages or "
            "exclusions of sessions; leave out every filter but the origin"
        )
    return _imported(connection, schema, request)


def filter_files(connection: Connection, chosen: FileRows) -> list[FilterStep]:
    """Find the sessions of a filtered file and return the counts after each step; empty for other files."""
    if isinstance(chosen, SessionRows):
        return []
    return [] if chosen.among is None else sessions_passing_filter(connection, chosen)


def _origin(connection: Connection, request: ExportRequest) -> str:
    """The origin to export; raises StorageError if the schema's tables hold no data of the study."""
    read = [item["schema"] for item in imports(connection, request.study)]
    alone = {Origin.PERSON} if asked_alone(connection, request.study) else ()
    asked = origins(connection, request.study, request.origin, {Origin.IMPORT} if read else (), instead=alone)
    known = recorded_schemas(connection, request.study)
    holds = {origin: read if origin == Origin.IMPORT else known for origin in asked}
    chosen = next((origin for origin in asked if request.schema in holds[origin]), None)
    if chosen is None:
        words = {name for origin in asked for name in holds[origin]}
        hint = (
            f" Add `export_schemas: [{request.schema}]` to its file before people take part."
            if asked != [Origin.IMPORT]
            else ""
        )
        raise StorageError(
            f"the study {request.study!r} does not record {request.schema!r}{suggestion(request.schema, words)}{hint}"
        )
    return chosen


def _own(connection: Connection, schema: Schema, request: ExportRequest, origin: str) -> ExportPlan:
    """The files of a study's own sessions. Files that belong to the study itself are included if they have rows."""
    its = filter_sessions(connection, request.study, origin, request.selection)
    passes = its.clause if its else None
    chosen = [
        RowSelection(
            request.study, origin, table, table.parts[0], table.ours, passes=passes, folder=request.part or None
        )
        for table in schema.tables
        if table.in_part(request.part)
    ]
    files = [item for item in chosen if not item.table.of_study or item.count(connection)]
    for number, item in enumerate(files):
        if item.table.filters:
            whole = next(table for table in schema.tables if table.name == item.table.filters)
            files[number] = replace(item, source=whole, among=passing_filter(), without=ATTENTION)
    return ExportPlan(schema, origin, tuple(files), passing=its)


def _tidy(connection: Connection, request: ExportRequest) -> ExportPlan:
    own = [origin for origin in origins(connection, request.study, request.origin) if origin != Origin.IMPORT]
    if not own:
        known = dict.fromkeys(item["schema"] for item in imports(connection, request.study))
        raise StorageError(
            f"{request.study!r} was imported: its files are tables already. Export them as such: "
            f"--schema {' or '.join(known)}"
        )
    if request.part:
        raise StorageError(f"{tidy.NAME} has no part {request.part!r}")
    its = filter_sessions(connection, request.study, own[0], request.selection)
    layout = tidy.Layout(Studies(connection.engine).with_sessions(request.study, own[0]))
    schema, passes = tidy.schema(layout.studies), its.clause if its else None
    files = (SessionRows(request.study, own[0], table, table.columns, layout, passes) for table in schema.tables)
    return ExportPlan(schema, own[0], tuple(files), passing=its)


def _imported(connection: Connection, schema: Schema, request: ExportRequest) -> ExportPlan:
    study, sources = request.study, imports(connection, request.study, schema.name)
    files = []
    for table in schema.tables:
        for part in table.parts:
            if part and request.part not in ("", part):
                continue
            read = [item for item in sources if (item["table"], item["part"]) == (table.name, part)]
            names = dict.fromkeys(name for item in read for name in item["columns"])
            known = {column.name: column for column in table.columns}
            if read:
                chosen = RowSelection(study, Origin.IMPORT, table, part, tuple(known[name] for name in names))
                files.append(replace(chosen, columns=(*chosen.columns, *_annotated(connection, chosen))))
    if request.part and not any(chosen.part == request.part for chosen in files):
        there = [part for part in schema.parts if any(item["part"] == part for item in sources)]
        raise StorageError(f"{study!r} has no data of the part {request.part!r}{suggestion(request.part, there)}")
    return ExportPlan(schema, Origin.IMPORT, tuple(files), tuple(sources))


def _annotated(connection: Connection, selection: RowSelection) -> tuple[Column, ...]:
    """Columns that are in no imported file, but that annotators have filled since."""
    fills = {name for names in selection.table.annotated.values() for name in names}
    missing = [column for column in selection.table.columns if column.name in fills and column not in selection.columns]
    there = (
        [name for name in fills if selection.count(connection, selection.own.c[name].is_not(None))] if missing else []
    )
    filled = [names for names in selection.table.annotated.values() if set(names) & set(there)]
    return tuple(column for column in missing if any(column.name in names for names in filled))
