"""The studies in a database: frozen documents by hash, each built once per process and cached within a size limit."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from threading import Lock

from cachetools import LRUCache
from sqlalchemy import URL, Connection, Engine, select, union

from experiments.study.resolve import restore
from experiments.study.study import Study
from problems.errors import did_you_mean
from storage import tables
from storage.db.engine import writer
from storage.db.upsert import RowOwner, upsert, upsert_rows
from storage.errors import StorageError
from storage.registers.imported_rows import imports
from storage.registers.study_status import study_events
from storage.schemas.registry import schemas

# The maximal total length of the cached documents; a character takes about 2.5 bytes of memory.
MOST_CHARS = 32_000_000


def _size(study: Study) -> int:
    """The size of a study in the cache; a study that is too large counts as the whole cache."""
    return min(len(study.document), MOST_CHARS)


BUILT: LRUCache[tuple[URL, str], Study] = LRUCache(MOST_CHARS, _size)
_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class StoredPicture:
    type: str
    content: bytes


class Studies:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, hash_: str) -> Study:
        """Get the study with a hash; raises StorageError if the database has none."""
        with _LOCK:
            study = BUILT.get((self._engine.url, hash_))
        return study or self._keep(restore(self._document(hash_)), hash_)

    def _document(self, hash_: str) -> str:
        t = tables.studies.c
        with self._engine.connect() as connection:
            document: str | None = connection.execute(select(t.document).where(t.hash == hash_)).scalar()
        if document is None:
            raise StorageError(f"no study of hash {hash_} is in this database")
        return document

    def _keep(self, study: Study, hash_: str) -> Study:
        with _LOCK:
            BUILT[self._engine.url, hash_] = study
        return study

    def names(self) -> list[str]:
        """The names of all studies in the database, including those with imported sessions only."""
        with self._engine.connect() as connection:
            known = union(select(tables.studies.c.name), select(tables.sessions.c.study))
            return sorted(connection.execute(known).scalars())

    def with_sessions(self, name: str, origin: str) -> tuple[Study, ...]:
        t, session = tables.studies.c, tables.sessions.c
        its = select(session.hash).where(session.study == name, session.origin == origin)
        with self._engine.connect() as connection:
            found = connection.execute(select(t.hash).where(t.hash.in_(its)).order_by(t.registered_us)).scalars().all()
        return tuple(map(self.get, found))

    def has(self, name: str) -> bool:
        """False for a study with imported sessions only."""
        query = select(tables.studies.c.hash).where(tables.studies.c.name == name).limit(1)
        with self._engine.connect() as connection:
            return connection.execute(query).first() is not None

    def newest(self, name: str) -> Study:
        """The last published study of that name, or else the last registered; raises StorageError if there is none."""
        t = tables.studies.c
        with self._engine.connect() as connection:
            published = study_events(connection, name, "published")
            last = select(t.hash).where(t.name == name).order_by(t.registered_us.desc()).limit(1)
            found = published[-1].data["hash"] if published else connection.execute(last).scalar()
            known = [] if found else connection.execute(select(t.name).distinct()).scalars().all()
            imported = not found and bool(imports(connection, name))
        if imported:
            raise StorageError(
                f"{name!r} was imported and never ran here, and this is for studies that ran here. Its figures: "
                f"`parley report {name}`"
            )
        if found is None:
            hint = f"it has {', '.join(sorted(known))}.{did_you_mean(name, known)}" if known else "it has none yet."
            raise StorageError(f"This database has no study {name!r}; {hint} `parley publish` adds a study.")
        return self.get(found)

    def picture(self, sha256: str) -> StoredPicture | None:
        t = tables.pictures.c
        with self._engine.connect() as connection:
            found = connection.execute(select(t.type, t.content).where(t.sha256 == sha256)).first()
        return None if found is None else StoredPicture(found.type, bytes(found.content))

    def register(self, study: Study) -> None:
        """Store a study permanently, with its own rows and its pictures. Registering it again changes nothing."""
        self._keep(replace(study, picture_files={}) if study.picture_files else study, study.hash)
        with writer(self._engine) as connection, connection.begin():
            t = tables.studies.c
            _store_pictures(connection, study)
            if connection.execute(select(t.hash).where(t.hash == study.hash)).scalar() is not None:
                return
            entry = {
                "hash": study.hash,
                "name": study.name,
                "version": study.file.version,
                "document": study.document,
                "registered_us": time.time_ns() // 1000,
            }
            upsert(connection, tables.studies, [entry], ["hash"])  # another worker may have come first
            for name in study.file.export_schemas:
                upsert_rows(connection, RowOwner(study.name), schemas()[name].study_rows(study))


def _store_pictures(connection: Connection, study: Study) -> None:
    """Store the pictures that no other study has stored, one by one: together they may be large."""
    t = tables.pictures.c
    for picture in {one.sha256: one for one in study.pictures.by_key.values()}.values():
        content = study.picture_files.get(picture.sha256)
        if content is None or connection.execute(select(t.sha256).where(t.sha256 == picture.sha256)).first():
            continue
        row = {"sha256": picture.sha256, "type": picture.type, "content": content}
        upsert(connection, tables.pictures, [row], ["sha256"])
