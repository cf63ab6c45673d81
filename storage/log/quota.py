"""Counts of the other sessions of a study, read in the transaction that adds one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Select, and_, func, or_, select

from experiments.events import NOTES
from experiments.session.study_status import StudyStatus
from experiments.study.cells import Counts, cells, open_cells
from experiments.study.sections.recruitment import Quota
from experiments.study.study import Study
from storage import tables
from storage.db.engine import Database
from storage.log.seats import counts
from storage.registers.origins import Origin
from storage.registers.study_status import operations_in

INDEX = re.compile(r"\[\d+\]")

_fact, _session = tables.events.c, tables.sessions.c


def item_counts(
    connection: Connection, study: str, origin: str, path: str, now_us: int, lease_s: float
) -> dict[str, int]:
    """The number of times that each item is taken in the loop at a path, by sessions of this origin. Sessions keep
    their places until `lease_s` after the last event; who returns later goes on with them, so an item may be rated once
    more than planned."""
    root, item = path.partition("[")[0], path.rpartition("/")[2]
    draws = connection.execute(_draws(study, origin, root)).all()
    facts = connection.execute(_progress(study, origin, root)).all()
    finished = {stream for stream, _, kind in facts if kind == "finished"}
    rated = {(stream, turn) for stream, at, kind in facts if kind == "submitted" for turn in _turns(at)}
    counts: Counter[str] = Counter()
    for stream, at, data, last_us in draws:
        if INDEX.sub("", at) != INDEX.sub("", path):
            continue
        reserved = stream not in finished and now_us - last_us < lease_s * 1e6
        for index, drawn in enumerate(data["items"]):
            counts[drawn[item]] += reserved or (stream, f"{at}[{index}]") in rated
    return dict(counts)


def _turns(path: str) -> Iterator[str]:
    """The loop iterations that contain a path, from the outermost in."""
    return (path[: found.end()] for found in INDEX.finditer(path))


def _draws(study: str, origin: str, root: str) -> Select[str, str, dict[str, Any], int]:
    any_fact = tables.events.alias().c
    own = any_fact.stream == _fact.stream, any_fact.kind.not_in(NOTES)
    last_us = select(func.max(any_fact.at_us)).where(*own).scalar_subquery()
    return (
        select(_fact.stream, _fact.path, _fact.data, last_us)
        .join(tables.sessions, _session.stream == _fact.stream)
        .where(_session.study == study, _session.origin == origin)
        .where(_fact.kind == "drawn", _fact.path.startswith(root, autoescape=True))
    )


def _progress(study: str, origin: str, root: str) -> Select[str, str, str]:
    inside = and_(_fact.kind == "submitted", _fact.path.startswith(f"{root}[", autoescape=True))
    return (
        select(_fact.stream, _fact.path, _fact.kind)
        .join(tables.sessions, _session.stream == _fact.stream)
        .where(_session.study == study, _session.origin == origin, or_(inside, _fact.kind == "finished"))
    )


def is_full(database: Database, study: Study, quotas: Sequence[Quota], now_us: int) -> bool:
    """True if quotas leave no place for a participant: a quick check, repeated exactly when a session starts."""
    if not quotas:
        return False
    with database.connect() as connection:
        known = StudyCounts(connection, now_us).counts(study, Origin.PERSON)
    return not open_cells(cells(study.factors, study.pools), known, quotas)


@dataclass(frozen=True, slots=True)
class StudyCounts:
    """Counts of a study's other sessions, valid within the transaction; a lock excludes other counting transactions."""

    connection: Connection
    now_us: int
    _counts: dict[tuple[str, str], Counts] = field(default_factory=dict)

    def operations(self, study: Study) -> StudyStatus:
        return operations_in(self.connection, study.name)

    def counts(self, study: Study, origin: str) -> Counts:
        key = (study.name, origin)
        if key not in self._counts:
            lease_s = study.file.session_limits.hold_place_s
            self._counts[key] = counts(self.connection, study.name, origin, self.now_us, lease_s)
        return self._counts[key]

    def item_counts(self, study: Study, origin: str, path: str) -> Mapping[str, int]:
        return item_counts(
            self.connection, study.name, origin, path, self.now_us, study.file.session_limits.hold_place_s
        )
