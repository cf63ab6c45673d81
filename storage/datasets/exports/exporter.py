"""Export a study's rows in a released schema: files in the released layout, with files that describe them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import Connection, Text, cast, false, func, select, union

from storage import tables
from storage.datasets.describe import describe
from storage.datasets.describe.csv_injection import FORMULA_STARTS, escaped
from storage.datasets.exports.atomic_folder import HashingFile, writing
from storage.datasets.exports.plan import ExportPlan, ExportRequest, filter_files, plan_export
from storage.datasets.exports.rows import Rows, RowSelection
from storage.datasets.exports.session_filter import count_present_and_withdrawn, day_of
from storage.datasets.exports.writers import CsvWriter, JsonWriter
from storage.datasets.manifest import ExportedFile, ExportManifest
from storage.db.engine import Database
from storage.db.private_files import create
from storage.errors import StorageError
from storage.log.seats import NOT_WITHDRAWN, PEOPLE
from storage.registers.origins import Origin
from storage.registers.publication_metadata import dataset_info_in
from storage.registers.simulated_users import counted
from storage.registers.studies import Studies
from storage.schemas.base import Column
from storage.schemas.registry import schema as schema_of

Tell = Callable[[str, int], None]
"""Progress callback, called repeatedly with a file and its number of written rows. An exception stops the export."""


def _nobody(path: str, rows: int) -> None:
    """Ignore progress."""


def export(database: Database, request: ExportRequest, folder: Path, tell: Tell = _nobody) -> ExportManifest:
    """Write a study's files and their description; a StorageError names what can be exported instead."""
    try:
        return _export(database, request, folder, tell)
    except OSError as error:
        raise StorageError(f"{folder} cannot be written: {error.strerror or error}. Choose another folder") from error


def _export(database: Database, request: ExportRequest, folder: Path, tell: Tell) -> ExportManifest:
    with database.connect() as connection:
        plan = plan_export(connection, request)
        filtered = tuple(kept for chosen in plan.files for kept in filter_files(connection, request, chosen))
        names = [chosen.path for chosen in plan.files]
        with writing(folder, names) as paths:
            files = tuple(_write(connection, chosen, paths, tell, safe=request.safe) for chosen in plan.files)
        sessions = sessions_in(connection, request.study, plan)
        withdrawn = count_present_and_withdrawn(connection, request.study, plan.origin)[1]
        users = tuple(counted(connection, request.study)) if plan.origin == Origin.BOT else ()
        dataset = dataset_info_in(connection, request.study)
        period = period_of(connection, request.study, plan)
    exported = ExportManifest(
        study=request.study,
        schema=schema_of(request.schema),
        origin=plan.origin,
        sessions=sessions,
        withdrawn=withdrawn,
        folder=folder,
        files=files,
        studies=Studies(database).taken(request.study, plan.origin),
        sources=plan.sources,
        filtered=filtered,
        safe=request.safe,
        selected=plan.selected,
        users=users,
        dataset=dataset,
        period=period,
    )
    describe(exported)
    return exported


def stream(database: Database, request: ExportRequest, out: BinaryIO, file: str = "") -> int:
    """Write one file of an export (by default the first) and return its number of rows. Raises StorageError."""
    with database.connect() as connection:
        chosen = plan_export(connection, request).named(file)
        filter_files(connection, request, chosen)
        return _rows(connection, chosen, out, safe=request.safe)


def _write(
    connection: Connection, chosen: RowSelection, paths: Mapping[str, Path], tell: Tell, *, safe: bool
) -> ExportedFile:
    """Write a file to its temporary path."""
    name = chosen.path
    with create(paths[name]) as file:
        hashed = HashingFile(file)
        rows = _rows(connection, chosen, hashed, partial(tell, name), safe=safe)
    formulas = {} if chosen.json else _formulas(connection, chosen)
    return ExportedFile(chosen.table, name, chosen.columns, rows, hashed.bytes, hashed.sha256, formulas)


def _rows(
    connection: Connection,
    chosen: RowSelection,
    out: Any,
    tell: Callable[[int], None] = lambda rows: None,
    *,
    safe: bool,
) -> int:
    file = TextIOWrapper(out, encoding="utf-8", newline="", write_through=False)
    texts = not chosen.json and chosen.texts
    escaping = safe and not chosen.json
    if escaping:
        file.write("\ufeff")  # Excel recognises UTF-8 by this byte order mark
    header = [column.name for column in chosen.columns]
    writer = JsonWriter(out, chosen.columns) if chosen.json else CsvWriter(file, header)
    count = 0
    tell(count)
    for rows in chosen.stream(connection, texts=texts):
        writer.rows(_escaped(rows, chosen.columns) if escaping else rows)
        count += len(rows)
        tell(count)
    writer.close()
    file.flush()
    file.detach()
    return count


def _escaped(rows: Rows, columns: Sequence[Column]) -> Rows:
    """Put an apostrophe before texts that a spreadsheet would run; numbers are unchanged."""
    texts = [column.kind == "text" for column in columns]
    return [
        tuple(escaped(cell) if text and isinstance(cell, str) else cell for text, cell in zip(texts, row, strict=True))
        for row in rows
    ]


def _formulas(connection: Connection, chosen: RowSelection) -> dict[str, int]:
    """Count, for each text column, the cells that a spreadsheet would run."""
    own = chosen.own.c
    starts = [start for start in FORMULA_STARTS if start != "\0"]  # PostgreSQL stores no NUL; SQLite's substr skips it
    counted = {
        column.name: chosen.count(connection, func.substr(cast(own[column.sql], Text), 1, 1).in_(starts))
        for column in chosen.columns
        if column.kind == "text" and not column.form.labels
    }
    return {name: count for name, count in counted.items() if count}


def sessions_in(connection: Connection, study: str, plan: ExportPlan) -> int:
    """Count the sessions in the export. For imported data, only those in its files count; the study may have others."""
    t = tables.sessions.c
    if plan.selected:
        return plan.selected.number
    if plan.origin != Origin.IMPORT:
        return count_present_and_withdrawn(connection, study, plan.origin)[0]
    own = {chosen.table.name: chosen.own.c for chosen in plan.files if chosen.table.person}
    people = [select(table["_session"]).where(table["_study"] == study) for table in own.values()]
    its = select(t.stream).where(t.study == study, t.origin == Origin.IMPORT)
    among = its.where(t.stream.in_(union(*people))) if people else its.where(false())
    return connection.execute(select(func.count()).select_from(among.subquery())).scalar_one()


def period_of(connection: Connection, study: str, plan: ExportPlan) -> tuple[str, str] | None:
    """The days (UTC) on which the first and the last session of people in the export started; None for other data."""
    if plan.origin not in PEOPLE:
        return None
    seat, t = tables.seats.c, tables.sessions.c
    query = select(func.min(seat.begun_us), func.max(seat.begun_us)).join(tables.sessions, seat.stream == t.stream)
    query = query.where(t.study == study, t.origin == plan.origin, NOT_WITHDRAWN)
    first, last = connection.execute(query if plan.passing is None else query.where(plan.passing.clause)).one()
    return None if first is None else (day_of(first), day_of(last))
