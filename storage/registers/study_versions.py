"""Versions of a study: the published ones, and the current one, which new sessions get.

Publishing is an event on the study's own stream, beside the frozen document. A study that was only registered (to walk
through a draft, for a simulation) is not a version. A session keeps the document with which it started.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from sqlalchemy import Connection, select

from experiments.events import Actor
from experiments.session.study_status import StudyStatus
from experiments.study.study import Study
from storage import tables
from storage.db.engine import Database
from storage.registers.origins import Origin
from storage.registers.studies import Studies
from storage.registers.study_status import (
    StatusTransaction,
    decided,
    describe_in,
    every_operations_in,
    operations_in,
    study_events,
)
from storage.yaml_text import yaml_text

_study, _seat = tables.studies.c, tables.seats.c


@dataclass(frozen=True, slots=True)
class PublishResult:
    """`new` unless it was the current one; `described` if the study's publication metadata changed."""

    hash: str
    new: bool
    described: bool = False


@dataclass(frozen=True, slots=True)
class StudyVersion:
    """A published version. `version` is the author's number; new sessions get the `current` one."""

    hash: str
    version: int
    published_us: int
    current: bool


def publish(database: Database, study: Study, *, by: Actor, at_us: int) -> PublishResult:
    """Freeze a study and make it current (again); its publication metadata become the study's, unless it has none. A
    study that already has participants, but no decision about its status, stays open."""
    Studies(database).register(study)
    return decided(database, study.name, lambda now: _publish(now, study, by, at_us))


def publish_on_start(database: Database, study: Study, *, at_us: int) -> Study:
    """Publish the file of a server's start, and open a draft; a version published since by a researcher stays."""
    Studies(database).register(study)
    decided(database, study.name, lambda now: _bring(now, study, at_us))
    return current(database, study.name)


def versions(database: Database, name: str) -> tuple[StudyVersion, ...]:
    """The published versions of a study, newest first, by the time of their last publishing."""
    with database.connect() as connection:
        published = study_events(connection, name, "published")
    last = {event.data["hash"]: event for event in published}
    newest = published[-1].data["hash"] if published else None
    found = (StudyVersion(hash_, one.data["version"], one.at_us, hash_ == newest) for hash_, one in last.items())
    return tuple(sorted(found, key=lambda version: (version.current, version.published_us), reverse=True))


def current(database: Database, name: str) -> Study:
    """The version for new sessions; raises StorageError if there is no such study."""
    return Studies(database).newest(name)


def status_of_all(database: Database, names: Collection[str] | None = None) -> Mapping[str, StudyStatus]:
    with database.connect() as connection:
        known = connection.execute(select(_study.name).distinct()).scalars().all() if names is None else names
        return every_operations_in(connection, sorted(known))


def difference(old_study: Study, new_study: Study) -> str:
    """The changes of a version, as a unified diff of readable YAML; empty if there are none."""
    old, new = json.loads(old_study.document), json.loads(new_study.document)
    one, other = (f"version {study.file.version} ({study.hash[:12]})" for study in (old_study, new_study))
    lines = unified_diff(_readable(old), _readable(new), one, other, lineterm="")
    return "\n".join([*lines, *_problems(old["problems"], new["problems"])])


def readable(study: Study) -> str:
    return "\n".join(_readable({"file": json.loads(study.document)["file"]})[1:])


def _publish(transaction: StatusTransaction, study: Study, by: Actor, at_us: int) -> PublishResult:
    described = describe_in(transaction, study.file.dataset, by=by, at_us=at_us, once=by == "system")
    held = operations_in(transaction.connection, study.name)
    if held.published == study.hash:
        return PublishResult(study.hash, new=False, described=described)
    if not held.decided and held.published is None and _has_people(transaction.connection, study.name):
        transaction.add("opened", {}, by=by, at_us=at_us)
    transaction.add("published", {"hash": study.hash, "version": study.file.version}, by=by, at_us=at_us)
    return PublishResult(study.hash, new=True, described=described)


def _bring(transaction: StatusTransaction, study: Study, at_us: int) -> None:
    published = study_events(transaction.connection, study.name, "published")
    known = any(event.data["hash"] == study.hash for event in published)
    if known and published[-1].by == "researcher":
        describe_in(transaction, study.file.dataset, by="system", at_us=at_us, once=True)
    else:
        _publish(transaction, study, "system", at_us)
    if operations_in(transaction.connection, study.name).state == "published":
        transaction.add("opened", {}, by="system", at_us=at_us)


def _has_people(connection: Connection, name: str) -> bool:
    mine = select(_seat.stream).where(_seat.study == name, _seat.origin == Origin.PERSON).limit(1)
    return connection.execute(mine).first() is not None


def _readable(document: Mapping[str, Any]) -> list[str]:
    parts = {name: part for name, part in document.items() if name != "problems"}
    return yaml_text(parts).splitlines()


def _problems(old: Mapping[str, Sequence[Any]], new: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    for pool in dict.fromkeys((*old, *new)):
        before, after = ({item["id"]: item for item in pools.get(pool, ())} for pools in (old, new))
        both = [name for name in before if name in after]
        found = {
            "removed": [name for name in before if name not in after],
            "added": [name for name in after if name not in before],
            "changed": [name for name in both if before[name] != after[name]],
        }
        if both != [name for name in after if name in before]:
            found["in another order"] = both
        yield from (f"problems of {pool} {what}: {', '.join(names)}" for what, names in found.items() if names)
