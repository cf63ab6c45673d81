"""The cells that a study's plans ask models for, and the replies, read from the attempts to get them. For a step of a
sample of a cell there is one attempt that brought something, or there are those that failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, islice
from typing import Any, Literal, NamedTuple

from sqlalchemy import case, func, or_, select

from storage.db.engine import Database, writer
from storage.db.upsert import insert_into
from storage.tables import SETTLED, attempts, cells

Kind = Literal["alone", "annotation"]
KEY = ("study", "cell")
CELLS_AT_ONCE, KEYS_AT_ONCE, ROWS_AT_ONCE = 500, 200, 500
_cell, _own = cells.c, attempts.c
_SETTLED = _own.reason.in_(SETTLED)
# Whether an attempt is for good: it brought a reply, or an outcome of its own such as a refusal.
BROUGHT = or_(_own.reason.is_(None), _SETTLED)


@dataclass(frozen=True, slots=True)
class StoredCell:
    """A row of `ai_cell`: the subject of a cell; `name` is its method or annotator."""

    cell: str
    kind: Kind
    name: str
    model: str
    position: int
    samples: int
    dataset: str | None = None
    problem: str | None = None
    stream: str | None = None
    path: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


FIELDS = tuple(StoredCell.__slots__)


def save_cells(database: Database, study: str, cells: Iterable[StoredCell]) -> None:
    """Write a study's cells; an existing one is described anew, and keeps its highest number of samples."""
    rest = iter(cells)
    with writer(database) as connection, connection.begin():
        while some := list(islice(rest, CELLS_AT_ONCE)):
            rows = [{"study": study} | {name: getattr(one, name) for name in FIELDS} for one in some]
            connection.execute(_keeping(connection.dialect.name), [row | {"data": dict(row["data"])} for row in rows])


def cells_of(database: Database, study: str, kind: Kind | None = None) -> Iterator[StoredCell]:
    wanted = select(*(_cell[name] for name in FIELDS)).where(_cell.study == study)
    if kind is not None:
        wanted = wanted.where(_cell.kind == kind)
    with database.connect() as connection:
        ordered = wanted.order_by(_cell.kind, _cell.position, _cell.cell).execution_options(yield_per=CELLS_AT_ONCE)
        for row in connection.execute(ordered).mappings():
            yield StoredCell(**row)


@cache
def _keeping(dialect: str) -> Any:
    new = insert_into(cells, dialect)
    others = {column.name: new.excluded[column.name] for column in _cell if column.name not in KEY}
    most = case((new.excluded.samples > _cell.samples, new.excluded.samples), else_=_cell.samples)
    return new.on_conflict_do_update(index_elements=KEY, set_=others | {"samples": most})


class StoredReply(NamedTuple):
    """`text` is None where `reason` gives the cause."""

    cell: str
    sample: int
    step: int
    text: str | None
    reason: str | None
    finish_reason: str | None


class SampleProgress(NamedTuple):
    """The number of a sample's steps with replies, and whether it has ended without one."""

    cell: str
    sample: int
    steps: int
    ended: bool


def progress(database: Database, keys: Iterable[str]) -> Iterator[SampleProgress]:
    """The progress of cells' samples, without their texts; those of which nothing is there are left out."""
    steps = func.sum(case((_own.reason.is_(None), 1), else_=0))
    ended = func.max(case((_SETTLED, 1), else_=0))
    for some in _parts(keys):
        wanted = select(_own.cell, _own.sample, steps, ended).where(_own.cell.in_(some))
        with database.connect() as connection:
            for cell, sample, count, over in connection.execute(wanted.group_by(_own.cell, _own.sample)):
                yield SampleProgress(cell, sample, count, bool(over))


def texts(database: Database, cell: str, sample: int) -> tuple[str, ...]:
    mine = (_own.cell == cell, _own.sample == sample, _own.reason.is_(None))
    with database.connect() as connection:
        return tuple(connection.execute(select(_own.text).where(*mine).order_by(_own.step)).scalars())


def stored(database: Database, keys: Iterable[str]) -> Iterator[StoredReply]:
    """The result of every step of some cells, or its last failure, by cell in order of keys, sample and step."""
    columns = [_own[name] for name in StoredReply._fields]
    latest = case((BROUGHT, 0), else_=1), _own.started_us.desc(), _own.number.desc()
    for some in _parts(sorted(set(keys))):
        wanted = select(*columns).where(_own.cell.in_(some)).order_by(_own.cell, _own.sample, _own.step, *latest)
        with database.connect() as connection:
            rows = connection.execute(wanted.execution_options(yield_per=ROWS_AT_ONCE))
            for _, tries in groupby(rows, key=lambda row: row[:3]):
                found = StoredReply(*next(tries))
                yield found if found.reason is None else found._replace(text=None)


def _parts(keys: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(keys)
    while some := list(islice(rest, KEYS_AT_ONCE)):
        yield some


def has_result(reason: str | None) -> bool:
    """True if an attempt is final: a reply, or an outcome of its own such as a refusal."""
    return reason is None or reason in SETTLED
