"""A study's own stream as far as it runs: what was decided about it (`experiments.core.operations`), read and added to.

Decisions are rare and come from commands, the console and any server process, so each is a transaction of its own that
takes the stream's next number under the database's writing lock.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, insert, select
from sqlalchemy.exc import IntegrityError

from experiments.core.events import By, Event
from experiments.core.operations import KINDS, Operations, fold_operations
from storage import tables
from storage.engine import Database, writer
from storage.errors import Conflict
from storage.recorded import study_stream

_fact = tables.events.c


def operations_of(database: Database, study: str) -> Operations:
    """What holds for a study now."""
    with database.connect() as connection:
        return operations_in(connection, study)


def operations_in(connection: Connection, study: str) -> Operations:
    """The same, as a connection sees it."""
    columns = (_fact.seq, _fact.at_us, _fact.by, _fact.path, _fact.kind, _fact.data, _fact.key)
    wanted = select(*columns).where(_fact.stream == study_stream(study), _fact.kind.in_(KINDS)).order_by(_fact.seq)
    return fold_operations(Event(*row) for row in connection.execute(wanted))


def decide_on(database: Database, study: str, kind: str, data: Mapping[str, Any], *, by: By, at_us: int) -> None:
    """Add a decision; raises Conflict where another one came between."""
    stream = study_stream(study)
    fact = {"stream": stream, "at_us": at_us, "by": by, "path": "", "kind": kind, "data": dict(data), "key": None}
    try:
        with writer(database) as connection, connection.begin():
            last = connection.execute(select(func.max(_fact.seq)).where(_fact.stream == stream)).scalar() or 0
            row = {**fact, "seq": last + 1, "recorded_us": time.time_ns() // 1000}
            connection.execute(insert(tables.events), [row])
    except IntegrityError as error:
        raise Conflict(f"{study}: another decision came between: {error.orig}") from error
