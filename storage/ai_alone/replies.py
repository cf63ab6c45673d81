"""The replies of models that were asked alone, read from the attempts to get them.

For a step of a sample of a cell there is one attempt that brought something, or there are those that failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import NamedTuple

from sqlalchemy import case, func, or_, select

from storage.db.engine import Database
from storage.tables import SETTLED, attempts

KEYS_AT_ONCE = 200
ROWS_AT_ONCE = 500
_own = attempts.c
_SETTLED = _own.reason.in_(SETTLED)
BROUGHT = or_(_own.reason.is_(None), _SETTLED)
"""Whether an attempt is for good: it brought a reply, or an outcome of its own such as a refusal."""


class StoredReply(NamedTuple):
    """What of a reply its readers need; `text` is None where `reason` says why."""

    cell: str
    sample: int
    step: int
    text: str | None
    reason: str | None
    finish_reason: str | None


class SampleProgress(NamedTuple):
    """How far a sample has come: how many of its steps brought a reply, and whether it has ended without one."""

    cell: str
    sample: int
    steps: int
    ended: bool


def progress(database: Database, keys: Iterable[str]) -> Iterator[SampleProgress]:
    """How far the samples of cells have come, without their texts; those of which nothing is there are left out."""
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
    """What came of every step of some cells, or how it failed last; cell by cell in the order of their keys, within one
    by sample and step."""
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
    """Whether an attempt is for good: a reply, or an outcome of its own such as a refusal."""
    return reason is None or reason in SETTLED
