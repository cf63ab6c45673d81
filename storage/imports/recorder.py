"""Rows of a file becoming `recorded` facts: which are new, which were recorded before, which contradict what was.

A row is known by its digest, which is the key of its fact: 32 hex digits for what it is a row of, 24 for what it says,
8 for which of several such rows of one file it is.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import orjson
from sqlalchemy import Connection, func, insert, select

from storage import tables
from storage.imports.find import Found
from storage.imports.records import Deviation, shown
from storage.recorded import ORIGIN, fact, imports, person_stream, row_of, study_stream
from storage.schemas.base import Row, Schema

ABOUT, SAYS = 32, 24


@dataclass(slots=True)
class _Stream:
    """A stream that is written to: its last number, and what it says about what from before this file."""

    name: str
    seq: int = 0
    known: dict[str, set[str]] = field(default_factory=dict)


class Recorder:
    """The writing side of an import, in a transaction that whoever began it ends."""

    def __init__(self, connection: Connection, schema: Schema, study: str) -> None:
        self.connection, self.schema, self.study = connection, schema, study
        self._recorded_us = time.time_ns() // 1000
        t = tables.sessions.c
        self._ordinal = connection.execute(select(func.max(t.ordinal)).where(t.study == study)).scalar() or 0
        self._own = study_stream(study)
        people = connection.execute(select(t.stream).where(t.study == study, t.origin == ORIGIN)).scalars()
        self._existing = {self._own, *people}

    def stream(self, name: str) -> _Stream:
        """A stream as it is now; a person's that is new gets its session."""
        if name in self._existing:
            t = tables.events.c
            stream = _Stream(name)
            for seq, key in self.connection.execute(select(t.seq, t.key).where(t.stream == name)):
                stream.seq = max(stream.seq, seq)
                stream.known.setdefault((key or "")[:ABOUT], set()).add((key or "")[ABOUT : ABOUT + SAYS])
            return stream
        self._existing.add(name)
        self._ordinal += 1
        session = {"stream": name, "study": self.study, "hash": "", "origin": ORIGIN, "ordinal": self._ordinal}
        self.connection.execute(insert(tables.sessions), [session])
        return _Stream(name)

    def event(self, stream: _Stream, kind: str, path: str, data: Mapping[str, Any], **known: Any) -> dict[str, Any]:
        """The next fact of a stream; `known` holds its time and key, where it has them."""
        stream.seq += 1
        own = {"stream": stream.name, "seq": stream.seq, "recorded_us": self._recorded_us, "by": "researcher"}
        return {**own, "at_us": None, "key": None, "path": path, "kind": kind, "data": data, **known}

    def imported(self, found: Found, columns: Iterable[str], rows: int, new: int, sha256: str) -> None:
        """Record that a file was read."""
        data = {
            "study": self.study,
            "schema": self.schema.name,
            "table": found.table.name,
            "part": found.part,
            "file": found.path.name,
            "sha256": sha256,
            "columns": list(columns),
            "rows": rows,
            "new": new,
        }
        event = self.event(self.stream(self._own), "imported", found.released, data, at_us=self._recorded_us)
        self.connection.execute(insert(tables.events), [event])


class FileRecorder:
    """The rows of one file, recorded batch by batch."""

    def __init__(self, recorder: Recorder, found: Found) -> None:
        self._recorder, self._found, self._table = recorder, found, found.table
        before = imports(recorder.connection, recorder.study, recorder.schema.name)
        same = [item for item in before if (item["table"], item["part"]) == (found.table.name, found.part)]
        self.first = not same
        """Whether no such file was imported before."""
        self._base = sum(item["rows"] for item in same)
        self._streams: dict[str, _Stream] = {}
        self._met: Counter[int] = Counter()
        self.new = 0

    def record(self, rows: Iterable[Row]) -> list[Deviation]:
        """Write the rows that are new; or, if others contradict what was recorded, say which."""
        contradicted: list[Deviation] = []
        facts, values = [], []
        for row in rows:
            stream = self._stream(row)
            about, says = self._digests(stream, row)
            known = stream.known.get(about)
            if known is None:
                placed = replace(row, seq=self._base + row.seq)
                facts.append(self._fact(stream, placed, about, says))
                values.append(self._values(stream, placed))
            elif says not in known:
                contradicted.append(self._contradiction(stream, row, about))
        if facts and not contradicted:
            self._recorder.connection.execute(insert(tables.events), facts)
            self._recorder.connection.execute(insert(self._table.table()), values)
        self.new += len(facts)
        return contradicted

    def _stream(self, row: Row) -> _Stream:
        person = str(row.values[self._table.person]) if self._table.person else ""
        if person not in self._streams:
            study, schema = self._recorder.study, self._recorder.schema.name
            name = study_stream(study) if self._table.of_study else person_stream(schema, study, person)
            self._streams[person] = self._recorder.stream(name)
        return self._streams[person]

    def _digests(self, stream: _Stream, row: Row) -> tuple[str, str]:
        what = (stream.name, row.table, row.part, *(row.values[name] for name in self._table.identity))
        return _digest(what, ABOUT), _digest((list(row.values.values()), row.written), SAYS)

    def _fact(self, stream: _Stream, row: Row, about: str, says: str) -> dict[str, Any]:
        met = int(about[:16], 16)
        number = self._met[met]
        self._met[met] += 1
        key = f"{about}{says}{number:08x}"
        at_us = self._table.time(row.values)
        return self._recorder.event(stream, "recorded", self._found.released, fact(row), at_us=at_us, key=key)

    def _values(self, stream: _Stream, row: Row) -> dict[str, Any]:
        own = {"_study": self._recorder.study, "_session": stream.name, "_part": row.part, "_seq": row.seq}
        return {**own, "_written": row.written, **row.values}

    def _contradiction(self, stream: _Stream, row: Row, about: str) -> Deviation:
        """Which cell says something else than what was recorded of the same row."""
        t = tables.events.c
        told = select(t.data).where(t.stream == stream.name, t.key.startswith(about)).order_by(t.seq)
        before = row_of(self._recorder.connection.execute(told).scalars().all()[0])
        for column in self._table.columns:
            if before.values[column.sql] != row.values[column.sql]:
                break
        was, now = shown(before.values[column.sql]), shown(row.values[column.sql])
        allowed = f"{was}, as it was imported before; another study takes it with --study NAME"
        return Deviation(self._found.path.name, row.seq, 0, column.name, now, allowed)


def _digest(value: Any, digits: int) -> str:
    return blake2b(orjson.dumps(value), digest_size=digits // 2).hexdigest()
