"""Counts the links whose id was not taken, by study, reason and parameter; the ids themselves are not stored."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import DBAPIError

from storage import tables
from storage.db.engine import Database, writer
from storage.db.upsert import insert_into
from storage.errors import Unwritable, cause

# The number of rows of one study. Visitors choose the names of parameters; those beyond it are counted as one.
MOST = 100
_problem = tables.link_problems.c
_KEY = ("study", "reason", "parameter")


@dataclass(frozen=True, slots=True)
class LinkProblem:
    """Refusals at the start page, and starts without the id, for one reason; `last_us` since 1970 in UTC."""

    reason: str
    parameter: str
    refused: int
    started: int
    last_us: int


def count_link_problem(
    database: Database, study: str, reason: str, parameter: str, at_us: int, *, started: bool
) -> None:
    """Count one link; raises Unwritable if nothing can be written."""
    new = insert_into(tables.link_problems, database.dialect.name)
    numbers = {"refused": int(not started), "started": int(started)}
    more = {name: _problem[name] + new.excluded[name] for name in numbers} | {"last_us": new.excluded.last_us}
    count = new.on_conflict_do_update(index_elements=_KEY, set_=more)
    here = select(_problem.parameter).where(_problem.study == study)
    try:
        with writer(database) as connection, connection.begin():
            known = here.where(_problem.reason == reason, _problem.parameter == parameter)
            if connection.execute(known).first() is None:
                rows = connection.execute(select(func.count()).select_from(here.subquery())).scalar_one()
                parameter = parameter if rows < MOST else ""
            key = {"study": study, "reason": reason, "parameter": parameter}
            connection.execute(count, {**key, **numbers, "last_us": at_us})
    except DBAPIError as error:
        raise Unwritable(f"a refused link could not be counted: {cause(error)}") from error


def recent_link_problems(connection: Connection, since_us: int) -> dict[str, tuple[int, int]]:
    """Links refused, and sessions started without the id, by study, for reasons that occurred since a time."""
    sums = [func.sum(_problem[name]) for name in ("refused", "started")]
    wanted = select(_problem.study, *sums).where(_problem.last_us >= since_us).group_by(_problem.study)
    return {study: (int(refused), int(started)) for study, refused, started in connection.execute(wanted)}


def link_problems(database: Database, study: str) -> tuple[LinkProblem, ...]:
    """The links of a study whose id was not taken, the most recent reason first."""
    columns = [_problem[name] for name in LinkProblem.__slots__]
    wanted = select(*columns).where(_problem.study == study).order_by(_problem.last_us.desc(), *columns[:2])
    with database.connect() as connection:
        return tuple(LinkProblem(*row) for row in connection.execute(wanted))
