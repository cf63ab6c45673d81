"""The tools of a study's sets as models are offered them: events `offered` of the study's own stream.

They are read from their server once for each version of a study and set, so that all participants of a version have the
same. An event `differed` says that a server has others since, does not answer, or has the same again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from storage.db.engine import Database
from storage.registers.study_status import StatusTransaction, decided, study_events

Described = Mapping[str, Any]


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


def note_tools(
    database: Database, study: str, version: str, name: str, sha256: str, tools: Sequence[str], at_us: int
) -> None:
    """Record a set's present hash ("" if there is no answer), and which `tools` differ, unless that is known."""

    def is_known(connection: Connection) -> bool:
        known = _noted(connection, study, version).get(name)
        return known["sha256"] == sha256 if known else bool(sha256) and not tools

    def record(transaction: StatusTransaction) -> None:
        if not is_known(transaction.connection):
            data = {"hash": version, "set": name, "sha256": sha256, "tools": list(tools)}
            transaction.add("differed", data, by="system", at_us=at_us)

    with database.connect() as connection:
        if is_known(connection):  # the usual case writes nothing
            return
    decided(database, study, record)


def differing_tools(database: Database, study: str, version: str) -> Mapping[str, Sequence[str]]:
    """The differing tools of sets whose server has others than are offered; none if it does not answer."""
    with database.connect() as connection:
        found = _noted(connection, study, version)
    return {name: data["tools"] for name, data in found.items() if data["tools"] or not data["sha256"]}


def _noted(connection: Connection, study: str, version: str) -> dict[str, Mapping[str, Any]]:
    found = study_events(connection, study, "differed")
    return {event.data["set"]: event.data for event in found if event.data["hash"] == version}


def _offered(connection: Connection, study: str, version: str, name: str) -> Sequence[Described] | None:
    found = (event.data for event in study_events(connection, study, "offered"))
    return next((data["tools"] for data in found if (data["hash"], data["set"]) == (version, name)), None)
