"""Record the rows of a file as `recorded` events; detect rows recorded before and rows that contradict recorded ones.

The key of an event identifies its row: 32 hex digits for the identity of the row, 24 for its values, and 8 for its
number among equal rows of one file. The Croissant 1.0 `metadata.json` beside a file, written by Parley or others, says
where it comes from: files with the columns of a release are not always the release.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Connection, func, insert, select

from experiments.events import Event
from storage import tables
from storage.columns import BITS
from storage.datasets.imports.detect_files import ReleaseFile
from storage.datasets.imports.records import CellDeviation, shown
from storage.db.append_events import append_events
from storage.db.upsert import RowOwner, own_columns
from storage.registers.imported_rows import imported_event, imports, row_of
from storage.registers.origins import Origin
from storage.registers.study_status import person_stream, study_stream
from storage.schemas.base import ReleasedRow, Schema

ABOUT, SAYS = 32, 24
KEPT = 4_096


class Recorder:
    """Writes an import within the transaction of the caller, who ends it."""

    def __init__(self, connection: Connection, schema: Schema, study: str) -> None:
        self.connection, self.schema, self.study = connection, schema, study
        t = tables.sessions.c
        self._ordinal = connection.execute(select(func.max(t.ordinal)).where(t.study == study)).scalar() or 0
        self._own = study_stream(study)

    def last(self, streams: Collection[str]) -> dict[str, int]:
        """The number of the last event of each stream, 0 for a new one. A new person gets a session."""
        t, e = tables.sessions.c, tables.events.c
        found = self.connection.execute(select(t.stream).where(t.stream.in_(streams))).scalars()
        known = {self._own, *found}
        own = {"study": self.study, "hash": "", "origin": Origin.IMPORT}
        new = [name for name in streams if name not in known]
        if new:
            sessions = [{"stream": name, "ordinal": self._ordinal + n, **own} for n, name in enumerate(new, 1)]
            self.connection.execute(insert(tables.sessions), sessions)
            self._ordinal += len(new)
        query = select(e.stream, func.max(e.seq)).where(e.stream.in_(streams)).group_by(e.stream)
        return dict.fromkeys(streams, 0) | {stream: seq for stream, seq in self.connection.execute(query)}

    def imported(self, file: ReleaseFile, columns: Iterable[str], rows: int, new: int, sha256: str) -> None:
        data: dict[str, Any] = {
            "study": self.study,
            "schema": self.schema.name,
            "table": file.table.name,
            "part": file.part,
            "file": file.path.name,
            "sha256": sha256,
            "columns": list(columns),
            "rows": rows,
            "new": new,
        }
        about = described(file.path, file.released, sha256)
        data |= {"about": about} if about else {}
        seq, at_us = self.last([self._own])[self._own] + 1, time.time_ns() // 1000
        event = Event(seq, at_us, "researcher", file.released, "imported", data)
        append_events(self.connection, [(self._own, event)])


class FileRecorder:
    def __init__(self, recorder: Recorder, file: ReleaseFile) -> None:
        self._recorder, self._file, self._table = recorder, file, file.table
        before = imports(recorder.connection, recorder.study, recorder.schema.name)
        same = [item for item in before if (item["table"], item["part"]) == (file.table.name, file.part)]
        self.first = not same
        """True if no such file was imported before."""
        self._base = sum(item["rows"] for item in same)
        self._person = lru_cache(KEPT)(partial(person_stream, recorder.schema.name, recorder.study))
        self.new = 0

    def record(self, rows: Sequence[ReleasedRow]) -> list[CellDeviation]:
        """Write the new rows, or return the deviations if rows contradict recorded ones."""
        contradicted: list[CellDeviation] = []
        facts, values = [], []
        streams = [self._stream(row) for row in rows]
        abouts = [self._about(stream, row) for stream, row in zip(streams, rows, strict=True)]
        seqs = self._recorder.last(list(dict.fromkeys(streams)))
        known, met = self._before([stream for stream, seq in seqs.items() if seq], abouts)
        for row, stream, about in zip(rows, streams, abouts, strict=True):
            says = _digest(list(row.values.values()), SAYS)  # regardless of spelling
            if about not in known:
                placed = replace(row, seq=self._base + row.seq) if self._base else row
                seqs[stream] += 1
                facts.append(self._fact(stream, seqs[stream], placed, f"{about}{says}{met[about]:08x}"))
                values.append(self._values(stream, placed))
                met[about] += 1
            elif says not in known[about]:
                contradicted.append(self._contradiction(stream, row, about))
        if facts and not contradicted:
            append_events(self._recorder.connection, facts)
            self._recorder.connection.execute(insert(self._table.table()), values)
        self.new += len(facts)
        return contradicted

    def _stream(self, row: ReleasedRow) -> str:
        if self._table.of_study:
            return study_stream(self._recorder.study)
        return self._person(str(row.values[self._table.person]) if self._table.person else "")

    def _about(self, stream: str, row: ReleasedRow) -> str:
        """The identity of a row; if its identity columns are all blank, all of its values."""
        if all(row.values[name] is None for name in self._table.identity):
            return _digest((stream, row.table, row.part, *row.values.values()), ABOUT)
        return _digest((stream, row.table, row.part, *(row.values[name] for name in self._table.identity)), ABOUT)

    def _before(self, streams: Sequence[str], abouts: Sequence[str]) -> tuple[Mapping[str, set[str]], Counter[str]]:
        """Value digests by identity from events before this file, and the number of this file's events by identity."""
        t = tables.events.c
        known: dict[str, set[str]] = {}
        met: Counter[str] = Counter()
        query = select(t.key, t.data["row"].as_integer()).where(
            t.stream.in_(streams), func.substr(t.key, 1, ABOUT).in_(abouts)
        )
        for key, number in self._recorder.connection.execute(query) if streams else ():
            if number > self._base:
                met[key[:ABOUT]] += 1
            else:
                known.setdefault(key[:ABOUT], set()).add(key[ABOUT : ABOUT + SAYS])
        return known, met

    def _fact(self, stream: str, seq: int, row: ReleasedRow, key: str) -> tuple[str, Event]:
        at_us: Any = self._table.time(row.values)  # None if the data have no time
        if at_us is not None and at_us.bit_length() > BITS:
            at_us = None  # too large for the log; the row keeps the value of the file
        return stream, Event(seq, at_us, "researcher", self._file.released, "recorded", imported_event(row), key)

    def _values(self, stream: str, row: ReleasedRow) -> dict[str, Any]:
        return {**own_columns(RowOwner(self._recorder.study, stream, Origin.IMPORT), row), **row.values}

    def _contradiction(self, stream: str, row: ReleasedRow, about: str) -> CellDeviation:
        """The first cell that differs from the recorded row with this identity."""
        t = tables.events.c
        query = select(t.data).where(t.stream == stream, t.key.startswith(about)).order_by(t.seq)
        before = row_of(self._recorder.connection.execute(query).scalars().all()[0])
        for column in self._table.columns:
            if before.values[column.sql] != row.values[column.sql]:
                break
        was, now = shown(before.values[column.sql]), shown(row.values[column.sql])
        allowed = f"{was}, as it was imported before; another study takes it with --study NAME"
        return CellDeviation(self._file.path.name, row.seq, 0, column.name, now, allowed)


def _digest(value: Any, digits: int) -> str:
    return blake2b(orjson.dumps(value), digest_size=digits // 2).hexdigest()


NAME = "metadata.json"
# The name of the property by which an export says where its sessions come from.
ORIGIN = "origin"
# What is said of a file even if it was changed since, and what only of the file as it was described.
ALWAYS, UNCHANGED = ("description",), ("name", "license", "citeAs", "url")


def described(file: Path, released: str, sha256: str) -> Mapping[str, str]:
    """The description of the data, by Croissant's names, and their `origin`; empty if no metadata describe this file,
    `released` in its release. A changed file (another checksum) has no known licence and citation, but its origin."""
    folders = [file.parent, file.parent.parent] if "/" in released else [file.parent]
    for folder in folders:
        read = _read(folder / NAME)
        parts = {str(item.get("contentUrl")): item for item in _parts(read)}
        for name in {file.name, released} & parts.keys():
            names = (*ALWAYS, *UNCHANGED) if parts[name].get("sha256") == sha256 else ALWAYS
            found = {key: text for key in names if isinstance(text := read.get(key), str) and text}
            return found | _origin(read)
    return {}


def _origin(read: Mapping[str, Any]) -> dict[str, str]:
    properties = read.get("additionalProperty")
    for item in properties if isinstance(properties, list) else ():
        if isinstance(item, dict) and item.get("name") == ORIGIN and isinstance(item.get("value"), str):
            return {ORIGIN: item["value"]}
    return {}


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _parts(read: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    parts = read.get("distribution")
    return (item for item in parts if isinstance(item, dict)) if isinstance(parts, list) else iter(())
