"""The pictures of participants' messages: files beside the tidy table `messages`, each named by its SHA-256."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from problems.pictures import Picture
from storage import tables
from storage.datasets.describe.pictures import path_of
from storage.datasets.exports.session_rows import SessionRows

_session, _seat, _fact = tables.sessions.c, tables.seats.c, tables.events.c


@dataclass(frozen=True, slots=True)
class SentPicture:
    """A picture, and a session whose participant sent it."""

    stream: str
    picture: Picture


def sent_pictures(connection: Connection, files: Sequence[object]) -> Mapping[str, SentPicture]:
    """Those of the messages that an export has, by their paths in it."""
    found = {}
    for messages in files:
        if isinstance(messages, SessionRows) and messages.table.name == "messages":
            streams = select(_session.stream).join(tables.seats, _seat.stream == _session.stream)
            streams = streams.where(_session.study == messages.study, _session.origin == messages.origin)
            streams = streams.where(_session.stream.in_(select(tables.session_pictures.c.stream)))
            streams = streams if messages.passes is None else streams.where(messages.passes)
            said = select(_fact.stream, _fact.data).where(_fact.kind == "said", _fact.stream.in_(streams))
            for stream, data in connection.execute(said.order_by(_fact.stream, _fact.seq)):
                for one in data.get("pictures", ()):
                    picture = Picture(one["sha256"], one["type"], one["width"], one["height"])
                    found[path_of(picture)] = SentPicture(stream, picture)
    return found
