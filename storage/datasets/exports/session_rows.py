"""Stream a table of the tidy export from the event log, a page of sessions at a time.

Nothing is stored for it: each session is read, folded and written, in the order of arrival. Withdrawn sessions have no
data left and so no row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import tee
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, select

from experiments.events import Event
from experiments.session.engine import fold
from experiments.session.timing import by_path
from experiments.views.integrity import written
from storage import tables
from storage.columns import Column
from storage.datasets.integrity import (
    SessionEvidence,
    SessionWriting,
    evidence_among,
    replies_alone,
    thresholds_in_force,
)
from storage.datasets.tidy.columns import Layout
from storage.datasets.tidy.rows import TidySession, rows
from storage.datasets.writers import FORMULA_STARTS, Rows
from storage.schemas.base import ReleasedTable

AT_ONCE = 50
_session, _seat, _fact, _attempt = tables.sessions.c, tables.seats.c, tables.events.c, tables.attempts.c
Found = Row[Any]


@dataclass(frozen=True, slots=True)
class SessionRows:
    """A table of the tidy export; `passes` is a condition on sessions, `layout` has their frozen versions. An answer
    that is left out of `answers_wide` (`without`) is left out of `answers` too."""

    study: str
    origin: str
    table: ReleasedTable
    columns: tuple[Column, ...]
    layout: Layout
    passes: ColumnElement[bool] | None = None
    json: bool = False
    texts: bool = False
    without: tuple[str, ...] = ()
    shared: Iterable[TidySession] | None = None
    """The sessions, where the tables read them together."""
    _formulas: Counter[str] = field(default_factory=Counter)

    @property
    def path(self) -> str:
        return self.table.file

    def count_to(self, connection: Connection, most: int) -> int | None:
        """None: the rows are not counted, because that would read every session."""
        return None

    def formulas(self, connection: Connection) -> dict[str, int]:
        """The cells of each text column that a spreadsheet would run, as counted by the last `stream`."""
        return {column.name: self._formulas[column.name] for column in self.columns if self._formulas[column.name]}

    def is_spelled(self, connection: Connection) -> bool:
        """False: only imported files spell their cells in a way of their own."""
        return False

    def stream(
        self, connection: Connection, *, texts: bool, most: int | None = None, as_spelled: bool = True
    ) -> Iterator[Rows]:
        """Yield all rows or the first ones, in a batch for each session."""
        names, left = [column.name for column in self.columns], most
        open_texts = [(n, c.name) for n, c in enumerate(self.columns) if c.kind == "text" and not c.form.labels]
        self._formulas.clear()
        for record in self.records(connection, self.table.name) if self.shared is None else self.shared:
            made = rows(self.table.name, record, self.layout)
            found = [tuple(one.get(name) for name in names) for one in made if self._stays(one)][:left]
            self._formulas.update(
                name  # without a call for each cell: there are as many as everything else has calls
                for row in found
                for n, name in open_texts
                if type(cell := row[n]) is str and cell[:1] in FORMULA_STARTS
            )
            left = None if left is None else left - len(found)
            yield found
            if left == 0:
                return

    def _stays(self, row: Mapping[str, Any]) -> bool:
        """False for an answer in a column of `answers_wide` that is left out."""
        if self.table.name != "answers" or not self.without:
            return True
        wide = self.layout.wide.get((row["path"], row["question"]))
        return wide is None or wide.name not in self.without

    def records(self, connection: Connection, *names: str) -> Iterator[TidySession]:
        """The sessions in the order of arrival, with the data that the tables of these names need."""
        studies = {one.hash: one for one in self.layout.studies}
        evidence = self._evidence(connection) if "integrity" in names else {}
        for page in self._pages(connection):
            streams = [found.stream for found in page]
            events = _by_stream(connection, _events(streams))
            records = _by_stream(connection, _of(tables.telemetry, streams)) if "timings" in names else {}
            attempts = _by_stream(connection, attempts_of(streams)) if "model_calls" in names else {}
            for found in page:
                state = fold(_event(*row) for row in events.get(found.stream, ()))
                if state.seq and state.outcome != "withdrawn":
                    calls = [row._asdict() for row in attempts.get(found.stream, ())]
                    page_told = by_path(row._asdict() for row in records.get(found.stream, ()))
                    known = evidence.get(found.ordinal)
                    yield TidySession(studies[found.hash], state, found._asdict(), page_told, calls, known)

    def _evidence(self, connection: Connection) -> Mapping[int, SessionEvidence]:
        """The evidence of all sessions of the origin, by number: copies are also in sessions that are left out."""
        database = connection.engine
        writings = map(_writing, replace(self, passes=None).records(connection, "timings"))
        return evidence_among(writings, replies_alone(database, self.study), thresholds_in_force(database, self.study))

    def _pages(self, connection: Connection) -> Iterator[Sequence[Found]]:
        query = select(_session.hash, _session.ordinal, *_seat).join(tables.seats, _seat.stream == _session.stream)
        query = query.where(_session.study == self.study, _session.origin == self.origin)
        if self.passes is not None:
            query = query.where(self.passes)
        last = 0
        while page := connection.execute(
            query.where(_session.ordinal > last).order_by(_session.ordinal).limit(AT_ONCE)
        ).all():
            yield page
            last = page[-1].ordinal


def sharing(connection: Connection, files: Sequence[SessionRows]) -> list[SessionRows]:
    """The tables of one export, which read each session once, together, if they are streamed in step."""
    records = files[0].records(connection, *(one.table.name for one in files))
    return [replace(one, shared=each) for one, each in zip(files, tee(records, len(files)), strict=True)]


def _writing(tidy_session: TidySession) -> SessionWriting:
    session = written(tidy_session.study, tidy_session.state, tidy_session.seat["ordinal"], tidy_session.telemetry)
    return SessionWriting(session, tidy_session.state.seed)


def attempts_of(streams: Sequence[str]) -> Select[Any]:
    """The attempts in sessions, by session in the order in which they were begun."""
    query = select(tables.attempts).where(_attempt.stream.in_(streams), _attempt.cell.is_(None))
    return query.order_by(_attempt.stream, _attempt.started_us, _attempt.turn, _attempt.slot, _attempt.number)


def _by_stream(connection: Connection, query: Select[Any]) -> dict[str, list[Found]]:
    found: dict[str, list[Found]] = {}
    for row in connection.execute(query):
        found.setdefault(row.stream, []).append(row)
    return found


def _events(streams: Sequence[str]) -> Select[Any]:
    return select(_fact.stream, *tables.EVENT).where(_fact.stream.in_(streams)).order_by(_fact.stream, _fact.seq)


def _event(_: str, *columns: Any) -> Event:
    return Event(*columns)


def _of(table: Table, streams: Sequence[str]) -> Select[Any]:
    return select(table).where(table.c.stream.in_(streams)).order_by(table.c.stream, table.c.number)
