"""The alerts of a deployment: the open ones, the times of sending, and the users who have seen them.

Changes are decided inside one transaction that locks out other deciders, so of several processes that see the same
condition one opens the alert, and one sends each message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from storage import tables
from storage.db.engine import IN_THE_WAY, Database, advisory_xact_lock, writer
from storage.errors import Conflict, Unwritable, cause

ONE_AT_A_TIME = 0xA1E27
_alert = tables.alerts.c


class AlertKey(NamedTuple):
    """`study`, `origin` and `subject` (a model, a condition, a folder) are empty where they do not apply."""

    kind: str
    study: str = ""
    origin: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Alert:
    """A condition that researchers are or were alerted to. Times are in microseconds UTC since 1970."""

    key: AlertKey
    data: Mapping[str, Any]
    """The figures of the last observation."""
    opened_us: int
    last_us: int
    notified_us: int
    closed_us: int | None = None
    seen_us: int | None = None
    seen_by: str | None = None
    undelivered: Mapping[str, str] = field(default_factory=dict)
    """By channel: why the last message was not delivered."""
    id: int = 0
    """0 until it is stored."""


def open_alerts(database: Database) -> tuple[Alert, ...]:
    with database.connect() as connection:
        return _open(connection)


def change_alerts(
    database: Database, decide: Callable[[Sequence[Alert]], Iterable[Alert]]
) -> tuple[tuple[Alert, ...], tuple[Alert, ...]]:
    """Store the alerts that `decide` changes or adds; returns the formerly open ones, and the stored with ids."""
    with _writing(database) as connection:
        advisory_xact_lock(connection, ONE_AT_A_TIME)
        before = _open(connection)
        return before, tuple(_write(connection, alert) for alert in decide(before))


def mark_seen(database: Database, ids: Collection[int], who: str, at_us: int) -> tuple[Alert, ...]:
    """Mark these alerts as seen by a user; returns those not seen by anybody before."""

    def seen(alerts: Sequence[Alert]) -> list[Alert]:
        new = [alert for alert in alerts if alert.id in ids and alert.seen_us is None]
        return [replace(alert, seen_us=at_us, seen_by=who) for alert in new]

    return change_alerts(database, seen)[1]


def record_delivery(database: Database, alert: int, undelivered: Mapping[str, str]) -> None:
    with _writing(database) as connection:
        connection.execute(update(tables.alerts).where(_alert.id == alert).values(undelivered=dict(undelivered)))


@contextmanager
def _writing(database: Database) -> Iterator[Connection]:
    """A transaction; raises Conflict if another one took too long, and Unwritable if nothing can be written."""
    try:
        with writer(database) as connection, connection.begin():
            yield connection
    except DBAPIError as error:
        in_the_way = isinstance(error, IntegrityError) or any(words in str(error.orig) for words in IN_THE_WAY)
        kind = Conflict if in_the_way else Unwritable
        raise kind(f"the alerts could not be written: {cause(error)}") from error


def _open(connection: Connection) -> tuple[Alert, ...]:
    found = []
    wanted = select(tables.alerts).where(_alert.closed_us.is_(None)).order_by(_alert.id)
    for row in connection.execute(wanted).mappings():
        values = dict(row)
        key = AlertKey(*(values.pop(name) for name in AlertKey._fields))
        found.append(Alert(key, **values))
    return tuple(found)


def _write(connection: Connection, alert: Alert) -> Alert:
    values = {**alert.key._asdict(), **{name: getattr(alert, name) for name in _VALUES}}
    values |= {"data": dict(alert.data), "undelivered": dict(alert.undelivered)}
    if alert.id:
        connection.execute(update(tables.alerts).where(_alert.id == alert.id).values(values))
        return alert
    number = connection.execute(insert(tables.alerts).values(values).returning(_alert.id)).scalar_one()
    return replace(alert, id=number)


_VALUES = ("opened_us", "last_us", "notified_us", "closed_us", "seen_us", "seen_by")
