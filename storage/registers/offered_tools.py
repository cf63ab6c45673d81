"""The tools of a study's sets as models are offered them: events `offered` of the study's own stream.

They are read from their server once for each version of a study and set, so that all participants of a version have the
same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from experiments.events import Event
from storage import tables
from storage.db.engine import Database
from storage.registers.stream_ids import study_stream
from storage.registers.study_status import StatusTransaction, decided

Described = Mapping[str, Any]
_fact = tables.events.c


def offered_tools(database: Database, study: str, version: str, name: str) -> Sequence[Described] | None:
    """The tools of a set in the version with this hash; None if they were never read."""
    with database.connect() as connection:
        return _offered(connection, study, version, name)


def offer_tools(
    database: Database, study: str, version: str, name: str, tools: Sequence[Described], sha256: str, at_us: int
) -> Sequence[Described]:
    """Record the tools of a set, unless another process has; returns those that count."""

    def record(transaction: StatusTransaction) -> Sequence[Described]:
        known = _offered(transaction.connection, study, version, name)
        if known is None:
            data = {"hash": version, "set": name, "tools": list(tools), "sha256": sha256}
            transaction.add("offered", data, by="system", at_us=at_us)
        return tools if known is None else known

    return decided(database, study, record)


def _offered(connection: Connection, study: str, version: str, name: str) -> Sequence[Described] | None:
    wanted = select(*tables.EVENT).where(_fact.stream == study_stream(study), _fact.kind == "offered")
    events = (Event(*row) for row in connection.execute(wanted.order_by(_fact.seq)))
    return next((e.data["tools"] for e in events if (e.data["hash"], e.data["set"]) == (version, name)), None)
