"""An export: a study's rows in a released schema, as files in the released layout, with what explains them.

People's sessions are exported unless a study has none of them, or another origin is asked for. What was imported is
exported as the files that were imported, with their columns in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from sqlalchemy import Connection, Text, cast, false, func, select, union

from experiments.errors import allowed
from storage import tables
from storage.describe import describe
from storage.describe.formulas import FORMULA_STARTS, escaped
from storage.engine import Database
from storage.errors import StorageError
from storage.exported import Exported, File, Kept
from storage.exports.csv_file import CsvWriter
from storage.exports.filtering import ATTENTION, Statuses, kept, kept_sessions
from storage.exports.hashed import Hashed
from storage.exports.json_file import JsonWriter
from storage.exports.rows import Chosen, Rows
from storage.origins import origins
from storage.recorded import ORIGIN, imports
from storage.schemas.base import Column, Schema
from storage.schemas.registry import schema as schema_of
from storage.studies import Studies


@dataclass(frozen=True, slots=True)
class Wish:
    """What is exported: a study in a schema. `statuses` says who completed it, in place of our own outcome; `safe`
    escapes what a spreadsheet would run."""

    study: str
    schema: str
    origin: str | None = None
    statuses: Statuses | None = None
    safe: bool = False


def export(database: Database, wish: Wish, folder: Path) -> Exported:
    """Write a study's files and what explains them; raises StorageError with what there is instead."""
    try:
        return _export(database, wish, folder)
    except OSError as error:
        raise StorageError(f"{folder} cannot be written: {error.strerror or error}. Choose another folder") from error


def _export(database: Database, wish: Wish, folder: Path) -> Exported:
    with database.connect() as connection:
        plan = _plan(connection, wish)
        filtered = tuple(kept for chosen in plan.files for kept in _filter(connection, wish, chosen))
        files = tuple(_write(connection, chosen, folder, safe=wish.safe) for chosen in plan.files)
        sessions = _sessions(connection, wish.study, plan)
    exported = Exported(
        study=wish.study,
        schema=schema_of(wish.schema),
        origin=plan.origin,
        sessions=sessions,
        folder=folder,
        files=files,
        studies=_studies(database, wish.study, plan.origin),
        sources=plan.sources,
        filtered=filtered,
        safe=wish.safe,
    )
    describe(exported)
    return exported


def stream(database: Database, wish: Wish, out: BinaryIO, file: str = "") -> int:
    """Write one file of an export, the first unless it is named; the number of rows. Raises StorageError."""
    with database.connect() as connection:
        files = {chosen.table.path(chosen.part): chosen for chosen in _plan(connection, wish).files}
        named = next((path for path in files if not file or file in (path, Path(path).name)), None)
        if named is None:
            raise StorageError(f"{wish.study!r} has no file {file!r} in {wish.schema}{allowed(file, files)}")
        _filter(connection, wish, files[named])
        return _rows(connection, files[named], out, safe=wish.safe)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What an export writes, and where it comes from."""

    origin: str
    files: tuple[Chosen, ...]
    sources: tuple[dict[str, Any], ...] = ()


def _plan(connection: Connection, wish: Wish) -> _Plan:
    schema = schema_of(wish.schema)
    origin = _origin(connection, wish)
    if origin != ORIGIN:
        return _own(connection, schema, wish, origin)
    if wish.statuses is not None:
        raise StorageError(f"{wish.study!r} was imported: whom its release keeps is stored; leave out the status file")
    return _imported(connection, schema, wish.study)


def _origin(connection: Connection, wish: Wish) -> str:
    """Whose sessions are exported; raises StorageError where the study has none that the schema's tables hold."""
    read = [item["schema"] for item in imports(connection, wish.study)]
    asked = origins(connection, wish.study, wish.origin, {ORIGIN} if read else ())
    recorded = _records(connection, wish.study)
    holds = {origin: read if origin == ORIGIN else recorded for origin in asked}
    chosen = next((origin for origin in asked if wish.schema in holds[origin]), None)
    if chosen is None:
        words = {name for origin in asked for name in holds[origin]}
        hint = f" Add `records: [{wish.schema}]` to its file before people take part." if asked != [ORIGIN] else ""
        raise StorageError(
            f"the study {wish.study!r} does not record {wish.schema!r}{allowed(wish.schema, words)}{hint}"
        )
    return chosen


def _records(connection: Connection, study: str) -> list[str]:
    """The schemas that some version of a study fills."""
    documents = connection.execute(select(tables.studies.c.document).where(tables.studies.c.name == study)).scalars()
    return [name for document in documents for name in orjson.loads(document)["file"].get("records", ())]


def _own(connection: Connection, schema: Schema, wish: Wish, origin: str) -> _Plan:
    """The files of a study's own sessions; those that belong to the study only where it has such rows."""
    chosen = [Chosen(wish.study, origin, table, table.parts[0], table.ours) for table in schema.tables]
    files = [item for item in chosen if not item.table.of_study or item.count(connection)]
    for number, item in enumerate(files):
        if item.table.filters:
            whole = next(table for table in schema.tables if table.name == item.table.filters)
            files[number] = replace(item, source=whole, among=kept(), without=ATTENTION)
    if wish.statuses is not None and not any(item.table.filters for item in files):
        raise StorageError(f"{schema.name} has no filtered file, so a status file changes nothing; leave it out")
    return _Plan(origin, tuple(files))


def _filter(connection: Connection, wish: Wish, chosen: Chosen) -> list[Kept]:
    """Find the sessions that a filtered file holds, and tell what each step left; nothing for any other file."""
    if chosen.among is None or chosen.source is None:
        return []
    return kept_sessions(connection, chosen.source, wish.study, chosen.origin, wish.statuses)


def _imported(connection: Connection, schema: Schema, study: str) -> _Plan:
    """The files that were imported, in the order of the release."""
    sources = imports(connection, study, schema.name)
    files = []
    for table in schema.tables:
        for part in table.parts:
            read = [item for item in sources if (item["table"], item["part"]) == (table.name, part)]
            names = dict.fromkeys(name for item in read for name in item["columns"])
            known = {column.name: column for column in table.columns}
            if read:
                columns: tuple[Column, ...] = tuple(known[name] for name in names)
                files.append(Chosen(study, ORIGIN, table, part, columns))
    return _Plan(ORIGIN, tuple(files), tuple(sources))


def _write(connection: Connection, chosen: Chosen, folder: Path, *, safe: bool) -> File:
    """Write a file beside its place and put it there when it is whole."""
    name = chosen.table.path(chosen.part)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with unfinished.open("wb") as file:
            hashed = Hashed(file)
            rows = _rows(connection, chosen, hashed, safe=safe)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    formulas = {} if chosen.json else _formulas(connection, chosen)
    return File(chosen.table, name, chosen.columns, rows, hashed.bytes, hashed.sha256, formulas)


def _rows(connection: Connection, chosen: Chosen, out: Any, *, safe: bool) -> int:
    file = TextIOWrapper(out, encoding="utf-8", newline="", write_through=False)
    texts = not chosen.json and chosen.texts
    escaping = safe and not chosen.json
    if escaping:
        file.write("\ufeff")  # by which Excel knows UTF-8
    header = [column.name for column in chosen.columns]
    writer = JsonWriter(out, chosen.columns) if chosen.json else CsvWriter(file, header, texts=texts)
    count = 0
    for rows in chosen.stream(connection, texts=texts):
        writer.rows(_escaped(rows, chosen.columns) if escaping else rows)
        count += len(rows)
    writer.close()
    file.flush()
    file.detach()
    return count


def _escaped(rows: Rows, columns: Sequence[Column]) -> Rows:
    """The rows with an apostrophe before texts that a spreadsheet would run; numbers stay."""
    texts = [column.kind == "text" for column in columns]
    return [
        tuple(escaped(cell) if text and isinstance(cell, str) else cell for text, cell in zip(texts, row, strict=True))
        for row in rows
    ]


def _formulas(connection: Connection, chosen: Chosen) -> dict[str, int]:
    """How many cells of each column of texts a spreadsheet would run."""
    own = chosen.own.c
    starts = [start for start in FORMULA_STARTS if start != "\0"]  # PostgreSQL has none, SQLite sees no first character
    counted = {
        column.name: chosen.count(connection, func.substr(cast(own[column.sql], Text), 1, 1).in_(starts))
        for column in chosen.columns
        if column.kind == "text" and not column.form.labels
    }
    return {name: count for name, count in counted.items() if count}


def _sessions(connection: Connection, study: str, plan: _Plan) -> int:
    """How many sessions are in it; of imported data those that the files hold, of which a study may have others."""
    t = tables.sessions.c
    if plan.origin != ORIGIN:
        query = select(func.count()).select_from(tables.sessions).where(t.study == study, t.origin == plan.origin)
        return connection.execute(query).scalar_one()
    own = {chosen.table.name: chosen.own.c for chosen in plan.files if not chosen.table.of_study}
    people = [select(table["_session"]).where(table["_study"] == study) for table in own.values()]
    its = select(t.stream).where(t.study == study, t.origin == ORIGIN)
    among = its.where(t.stream.in_(union(*people))) if people else its.where(false())
    return connection.execute(select(func.count()).select_from(among.subquery())).scalar_one()


def _studies(database: Database, study: str, origin: str) -> tuple[Any, ...]:
    """The frozen studies of the sessions of an origin, oldest first."""
    t, s = tables.sessions.c, tables.studies.c
    with database.connect() as connection:
        its = select(t.hash).where(t.study == study, t.origin == origin)
        hashes = connection.execute(select(s.hash).where(s.hash.in_(its)).order_by(s.registered_us)).scalars().all()
    return tuple(map(Studies(database).get, hashes))
