"""What is known of the sessions that a transaction writes to, asked for once for all of them.

SQLite's writers are alone from their first word, so what they find then holds until they change it themselves. In
PostgreSQL others write meanwhile: there it is asked for when it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Column, Connection, Select, bindparam, func, select

from storage import tables
from storage.engine import dumps
from storage.erasure import erased
from storage.prepared import Prepared


def _of_these(stream: Column[str]) -> Select[str]:
    these = func.json_each(bindparam("streams")).table_valued("value")
    return select(stream).select_from(these.join(stream.table, stream == these.c.value))


_ERASED = Prepared(lambda _: _of_these(tables.erasures.c.stream))
_TYPING = Prepared(lambda _: _of_these(tables.drafts.c.stream))


class Known:
    """What one transaction knows of some sessions: which of them were erased, and where something is typed."""

    def __init__(self, connection: Connection, streams: Iterable[str]) -> None:
        self._connection = connection
        self._streams = frozenset(streams) if connection.dialect.name == "sqlite" else frozenset()
        self._erased: set[str] | None = None
        self._typing: set[str] | None = None

    def is_erased(self, stream: str) -> bool:
        """Whether a session was erased: nothing of it may be written any more."""
        if stream not in self._streams:
            return erased(self._connection, stream)
        if self._erased is None:
            self._erased = self._found(_ERASED)
        return stream in self._erased

    def may_have_draft(self, stream: str) -> bool:
        """False where nothing is typed in a session that was not sent."""
        if stream not in self._streams:
            return True
        if self._typing is None:
            self._typing = self._found(_TYPING)
        return stream in self._typing

    def typed(self, stream: str) -> None:
        """A draft of a session was written."""
        if self._typing is not None:
            self._typing.add(stream)

    def forget(self) -> None:
        """Ask again: a session was erased."""
        self._erased = self._typing = None

    def _found(self, asked: Prepared) -> set[str]:
        return {stream for (stream,) in asked.rows(self._connection, {"streams": dumps(list(self._streams))})}
