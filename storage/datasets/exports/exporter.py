"""Export a study's rows in a released schema: files in the released layout, with files that describe them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from sqlalchemy import Connection, false, func, select, union

from problems.pictures import Picture
from storage import tables
from storage.ai_alone.model_use import ModelTask, asked_alone_of, model_uses
from storage.columns import Column
from storage.datasets.describe.export_folder import describe, writing_folder
from storage.datasets.describe.pictures import TABLE, path_of
from storage.datasets.exports.personal_data import Mask
from storage.datasets.exports.plan import ExportPlan, ExportRequest, FileRows, filter_files, plan_export
from storage.datasets.exports.rows import RowSelection
from storage.datasets.exports.session_filter import count_present_and_withdrawn, day_of
from storage.datasets.exports.session_rows import SessionRows, sharing
from storage.datasets.manifest import ExportedFile, ExportManifest, LinesCopy
from storage.datasets.writers import CsvCells, CsvWriter, HashingFile, JsonWriter, LinesWriter, Rows, escaped
from storage.db.engine import Database
from storage.db.private_files import create
from storage.errors import StorageError
from storage.log.seats import NOT_WITHDRAWN, PEOPLE
from storage.registers.origins import Origin, count_simulated
from storage.registers.session_pictures import session_picture
from storage.registers.studies import StoredPicture, Studies
from storage.registers.study_status import dataset_info_in

# A file, and what its mask found.
Written = tuple[ExportedFile, Mapping[tuple[str, str], int]]
# Progress callback, called repeatedly with a file and its number of written rows. An exception stops the export.
OnRows = Callable[[str, int], None]


def export(
    database: Database, request: ExportRequest, folder: Path, on_rows: OnRows = lambda path, rows: None
) -> ExportManifest:
    """Write a study's files and their description; a StorageError names what can be exported instead."""
    try:
        return _export(database, request, folder, on_rows)
    except OSError as error:
        raise StorageError(f"{folder} cannot be written: {error.strerror or error}. Choose another folder") from error


def _export(database: Database, request: ExportRequest, folder: Path, on_rows: OnRows) -> ExportManifest:
    with database.connect() as connection:
        plan = plan_export(connection, request)
        filtered = tuple(kept for chosen in plan.files for kept in filter_files(connection, chosen))
        copied = {chosen.path: lines_path(chosen.path) for chosen in plan.files if is_copied(chosen, plan)}
        names = [*(chosen.path for chosen in plan.files), *copied.values()]
        register = Studies(database)
        studies = register.with_sessions(request.study, plan.origin) or tuple(
            map(register.get, asked_alone_of(database, request.study))
        )
        shown = {path_of(one): one for study in studies for one in study.pictures.by_key.values()}
        sent = {} if request.mask else sent_pictures(connection, plan.files)  # they may show anybody
        all_names = dict.fromkeys((*names, *shown, *sent))
        with writing_folder(folder, [*all_names], [TABLE] if shown else []) as paths:
            _write_pictures({path: partial(register.picture, one.sha256) for path, one in shown.items()}, paths)
            own = {
                path: partial(session_picture, database, one.picture.sha256, one.stream) for path, one in sent.items()
            }
            _write_pictures(own, paths)
            made = [
                written
                for some in _read_together(connection, plan)
                for written in _in_step(
                    [_write(connection, chosen, copied.get(chosen.path), paths, on_rows, request) for chosen in some]
                )
            ]
        sessions = sessions_in(connection, request.study, plan)
        withdrawn = count_present_and_withdrawn(connection, request.study, plan.origin)[1]
        users = tuple(count_simulated(connection, request.study)) if plan.origin == Origin.BOT else ()
        dataset = dataset_info_in(connection, request.study)
        period = period_of(connection, request.study, plan)
    pictures = sorted((shown | {path: one.picture for path, one in sent.items()}).items())
    exported = ExportManifest(
        study=request.study,
        schema=plan.schema,
        origin=plan.origin,
        sessions=sessions,
        withdrawn=withdrawn,
        folder=folder,
        files=tuple(file for file, _ in made),
        studies=studies,
        sources=plan.sources,
        filtered=filtered,
        safe=request.safe,
        selected=plan.selected,
        users=users,
        uses=_uses(database, plan),
        dataset=dataset,
        pictures=tuple((path, picture, (folder / path).stat().st_size) for path, picture in pictures),
        period=period,
        masked=request.mask,
        personal=tuple((file.path, *one, n) for file, found in made for one, n in found.items()),
        without=request.without,
    )
    describe(exported)
    return exported


def _uses(database: Database, plan: ExportPlan) -> tuple[ModelTask, ...]:
    released = [chosen.table for chosen in plan.files]
    tasks = {("annotation", name) for table in released for name in table.annotated}
    alone = any(table.of_alone for table in released)
    if plan.origin == Origin.IMPORT or not (tasks or alone):
        return ()
    uses = model_uses(database, plan.files[0].study)
    return tuple(use for use in uses if (use.kind, use.task) in tasks or (use.kind == "alone" and alone))


def _write_pictures(pictures: Mapping[str, Callable[[], StoredPicture | None]], paths: Mapping[str, Path]) -> None:
    """Write the pictures to their temporary paths, one by one: together they may be large."""
    for path, find in pictures.items():
        found = find()
        if found is None:
            raise StorageError(f"The database lacks the picture {path}. Export again, or restore it from a backup")
        with create(paths[path]) as file:
            file.write(found.content)


def stream(database: Database, request: ExportRequest, out: BinaryIO, file: str = "") -> int:
    """Write one file of an export (by default the first) and return its number of rows. Raises StorageError."""
    with database.connect() as connection:
        chosen = plan_export(connection, request).named(file)
        filter_files(connection, chosen)
        return sum(map(len, _written(connection, chosen, out, request, _mask(chosen, request))))


def _read_together(connection: Connection, plan: ExportPlan) -> Iterator[Sequence[FileRows]]:
    """The files of a plan: those that are made of sessions together, the others one by one."""
    if sessions := [chosen for chosen in plan.files if isinstance(chosen, SessionRows)]:
        yield sharing(connection, sessions)
    yield from ([chosen] for chosen in plan.files if not isinstance(chosen, SessionRows))


def _in_step(writings: Sequence[Generator[None, None, Written]]) -> list[Written]:
    """Write several files batch by batch in turn; returns the result of each."""
    found: dict[int, Written] = {}
    with ExitStack() as stack:
        left = {number: stack.enter_context(closing(one)) for number, one in enumerate(writings)}
        while left:
            for number, one in [*left.items()]:
                try:
                    next(one)
                except StopIteration as end:
                    found[number] = end.value
                    del left[number]
    return [found[number] for number in range(len(writings))]


def _write(
    connection: Connection,
    chosen: FileRows,
    copy: str | None,
    paths: Mapping[str, Path],
    on_rows: OnRows,
    request: ExportRequest,
) -> Generator[None, None, Written]:
    """Write a file and its copy of this name, a batch a step; returns the file and the personal data found in it."""
    name, seen, mask = chosen.path, CsvCells(chosen.columns), _mask(chosen, request)
    with create(paths[name]) as file:
        hashed = HashingFile(file)
        for _ in _written(connection, chosen, hashed, request, mask, partial(on_rows, name), cells=seen):
            yield
    written = ExportedFile(
        table=chosen.table,
        path=name,
        columns=chosen.columns,
        rows=seen.rows,
        bytes=hashed.bytes,
        sha256=hashed.sha256,
        formulas={} if chosen.json else chosen.formulas(connection),
        as_floats=seen.as_floats,
        as_texts=seen.as_texts,
        lines=_lines(connection, chosen, request, copy, paths[copy]) if copy else None,
    )
    return written, mask.found if mask else {}


def lines_path(path: str) -> str:
    return str(PurePosixPath(path).with_suffix(".jsonl"))


def is_copied(chosen: FileRows, plan: ExportPlan) -> bool:
    """True for a csv beside a JSON file."""
    return not chosen.json and any(other.json for other in plan.files)


def _lines(connection: Connection, chosen: FileRows, request: ExportRequest, name: str, path: Path) -> LinesCopy:
    """Write the copy of a file. It has the values of its cells, however an imported file spelled them."""
    with create(path) as file:
        hashed = HashingFile(file)
        writer = LinesWriter(hashed, chosen.columns)
        for rows in _values(connection, chosen, _mask(chosen, request), as_spelled=False):
            writer.rows(rows)
    return LinesCopy(name, hashed.bytes, hashed.sha256)


def _mask(chosen: FileRows, request: ExportRequest) -> Mask | None:
    return Mask(chosen.columns) if request.mask else None


def _values(
    connection: Connection,
    chosen: FileRows,
    mask: Mask | None,
    *,
    texts: bool = False,
    as_spelled: bool = True,
) -> Iterator[Rows]:
    rows = chosen.stream(connection, texts=texts, as_spelled=as_spelled)
    return mask.rows(rows) if mask else rows


def _written(
    connection: Connection,
    chosen: FileRows,
    out: Any,
    request: ExportRequest,
    mask: Mask | None,
    on_rows: Callable[[int], None] = lambda rows: None,
    *,
    cells: CsvCells | None = None,
) -> Iterator[Rows]:
    """Write the rows, and give each batch that is written."""
    file = TextIOWrapper(out, encoding="utf-8", newline="", write_through=False)
    try:
        texts = not chosen.json and chosen.texts
        escaping = request.safe and not chosen.json
        if escaping:
            file.write("\ufeff")  # Excel recognises UTF-8 by this byte order mark
        header = [column.name for column in chosen.columns]
        writer = JsonWriter(out, chosen.columns) if chosen.json else CsvWriter(file, header)
        count = 0
        on_rows(count)
        for rows in _values(connection, chosen, mask, texts=texts):
            if cells is not None:
                cells.see(rows)
            writer.rows(_escaped(rows, chosen.columns) if escaping else rows)
            count += len(rows)
            on_rows(count)
            yield rows
        writer.close()
    finally:
        file.detach()  # flushes; nobody else closes what is written to


def _escaped(rows: Rows, columns: Sequence[Column]) -> Rows:
    """Put an apostrophe before texts that a spreadsheet would run; numbers are unchanged."""
    texts = [column.kind == "text" for column in columns]
    return [
        tuple(escaped(cell) if text and isinstance(cell, str) else cell for text, cell in zip(texts, row, strict=True))
        for row in rows
    ]


def sessions_in(connection: Connection, study: str, plan: ExportPlan) -> int:
    """Count the sessions in the export. For imported data, only those in its files count; the study may have others."""
    t = tables.sessions.c
    if plan.selected:
        return plan.selected.number
    if plan.origin != Origin.IMPORT:
        return count_present_and_withdrawn(connection, study, plan.origin)[0]
    released = [chosen for chosen in plan.files if isinstance(chosen, RowSelection)]
    own = {chosen.table.name: chosen.own.c for chosen in released if chosen.table.person}
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


# Of the pictures of messages: files beside the tidy table `messages`, each named by its SHA-256.
_session, _seat, _fact = tables.sessions.c, tables.seats.c, tables.events.c


@dataclass(frozen=True, slots=True)
class SentPicture:
    stream: str
    picture: Picture


def sent_pictures(connection: Connection, files: Sequence[object]) -> Mapping[str, SentPicture]:
    """Those of the messages that an export has, by their paths in it."""
    found = {}
    for messages in files:
        if isinstance(messages, SessionRows) and messages.table.name == "messages":
            streams = select(_session.stream).join(tables.seats, _seat.stream == _session.stream)
            streams = streams.where(_session.study == messages.study, _session.origin == messages.origin)
            streams = streams.where(_session.stream.in_(select(tables.session_pictures.c.stream)))
            streams = streams if messages.passes is None else streams.where(messages.passes)
            said = select(_fact.stream, _fact.data).where(_fact.kind == "said", _fact.stream.in_(streams))
            for stream, data in connection.execute(said.order_by(_fact.stream, _fact.seq)):
                for one in data.get("pictures", ()):
                    picture = Picture(one["sha256"], one["type"], one["width"], one["height"])
                    found[path_of(picture)] = SentPicture(stream, picture)
    return found
