"""Model usage in sessions by study, origin and hour: sums of attempts, updated with each attempt or recomputed.

Two batches that update the same rows in different order would deadlock in PostgreSQL, so a batch with more than one
attempt takes a lock first.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, bindparam, case, cast, delete, func, insert, select

from storage import tables
from storage.db.engine import advisory_xact_lock
from storage.db.upsert import insert_into

HOUR_US = 3_600_000_000
ONE_AT_A_TIME = 0x05A6E
KEY = ("study", "origin", "model", "hour_us")
_used, _try, _session = tables.usage.c, tables.attempts.c, tables.sessions.c


def lock(connection: Connection) -> None:
    """Prevent other batches from adding until this transaction ends."""
    advisory_xact_lock(connection, ONE_AT_A_TIME)


def add_usage(connection: Connection, values: Mapping[str, Any]) -> None:
    """Add an attempt, in the transaction that writes it; the origin is that of its session."""
    connection.execute(_adding(connection.dialect.name), _counted(values))


@cache
def _adding(dialect: str) -> Any:
    given = [
        _session.origin if column is _used.origin else bindparam(column.name, type_=column.type) for column in _used
    ]
    origin = select(*given).where(_session.stream == bindparam("stream"))
    new = insert_into(tables.usage, dialect).from_select(list(_used), origin)
    more = {column.name: column + new.excluded[column.name] for column in _used if column.name not in KEY}
    return new.on_conflict_do_update(index_elements=KEY, set_=more)


def _counted(values: Mapping[str, Any]) -> dict[str, Any]:
    replied = values["reason"] is None
    first_us = values["total_us"] if values["first_token_us"] is None else values["first_token_us"]
    return {
        "stream": values["stream"],
        "study": values["study"],
        "model": values["model"],
        "hour_us": values["started_us"] - values["started_us"] % HOUR_US,
        "calls": 1,
        "failed": int(not replied),
        "unknown": int(replied and values["cost"] is None),
        "prompt_tokens": values["prompt_tokens"] or 0,
        "completion_tokens": values["completion_tokens"] or 0,
        "cost": values["cost"] or 0.0,
        "first_token_us": first_us if replied else 0,
        "total_us": values["total_us"] if replied else 0,
    }


def recount(connection: Connection) -> None:
    tables.metadata.drop_all(connection, [tables.usage])
    tables.metadata.create_all(connection, [tables.usage])
    _add_sums(connection)


def recount_study(connection: Connection, study: str) -> None:
    """Recompute a study's rows from its attempts; the caller holds the lock."""
    connection.execute(delete(tables.usage).where(_used.study == study))
    _add_sums(connection, _try.study == study)


def _add_sums(connection: Connection, *which: ColumnElement[bool]) -> None:
    hour_us = (_try.started_us - _try.started_us % HOUR_US).label("hour_us")
    replied = _try.reason.is_(None)
    first_us = func.coalesce(_try.first_token_us, _try.total_us)
    sums = {
        "calls": func.count(),
        "failed": func.count(_try.reason),
        "unknown": func.sum(cast(replied & _try.cost.is_(None), Integer)),
        "prompt_tokens": func.coalesce(func.sum(_try.prompt_tokens), 0),
        "completion_tokens": func.coalesce(func.sum(_try.completion_tokens), 0),
        "cost": func.coalesce(func.sum(_try.cost), 0.0),
        "first_token_us": func.sum(case((replied, first_us), else_=0)),
        "total_us": func.sum(case((replied, _try.total_us), else_=0)),
    }
    added = (
        select(_try.study, _session.origin, _try.model, hour_us, *sums.values())
        .join(tables.sessions, _session.stream == _try.stream)
        .where(_try.cell.is_(None), *which)
        .group_by(_try.study, _session.origin, _try.model, hour_us)
    )
    connection.execute(insert(tables.usage).from_select([*KEY, *sums], added))
