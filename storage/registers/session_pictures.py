"""The pictures that participants attached to their messages, each stored with its session alone and erased with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, delete, select

from problems.attachments import NewPicture
from storage import tables
from storage.db.engine import Database
from storage.db.upsert import upsert
from storage.registers.studies import StoredPicture

_own = tables.session_pictures.c


def session_picture(database: Database, sha256: str, stream: str = "") -> StoredPicture | None:
    """A picture of a session, or, for researchers, of any; None if there is none."""
    query = select(_own.type, _own.content).where(_own.sha256 == sha256).limit(1)
    with database.connect() as connection:
        found = connection.execute(query.where(_own.stream == stream) if stream else query).first()
    return None if found is None else StoredPicture(found.type, bytes(found.content))


def picture_contents(database: Database, stream: str, hashes: Collection[str]) -> Mapping[str, bytes]:
    """The contents of a session's pictures by SHA-256, without those that were deleted meanwhile."""
    query = select(_own.sha256, _own.content).where(_own.stream == stream, _own.sha256.in_(hashes))
    with database.connect() as connection:
        return {sha256: bytes(content) for sha256, content in connection.execute(query)}


def store_picture(connection: Connection, stream: str, picture: NewPicture) -> None:
    row = {"stream": stream, "sha256": picture.sha256, "type": picture.type, "content": picture.content}
    upsert(connection, tables.session_pictures, [row], ["stream", "sha256"])


def delete_pictures(connection: Connection, stream: str, hashes: Collection[str]) -> None:
    connection.execute(delete(tables.session_pictures).where(_own.stream == stream, _own.sha256.in_(hashes)))
