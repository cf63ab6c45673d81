"""A small pooler in transaction mode before PostgreSQL: a client has one of its sessions for one transaction."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from queue import LifoQueue, Queue
from socketserver import StreamRequestHandler, ThreadingTCPServer
from struct import unpack
from threading import Thread
from typing import BinaryIO

from sqlalchemy import make_url

ENCRYPTED = (80877103, 80877104)
"""The codes by which a client asks for TLS and for GSSAPI before it begins."""
ENDS = b"QS"
"""The messages after which a client waits for an answer: a query, and Sync."""


@contextmanager
def pooled(url: str, sessions: int, *, in_turn: bool) -> Iterator[str]:
    """The URL of a pooler with so many sessions before a database; the last used is taken first, or all `in_turn`."""
    address = make_url(url)
    pool: Queue[BinaryIO] = (Queue if in_turn else LifoQueue)(sessions)

    class Client(StreamRequestHandler):
        """What serves one client."""

        def handle(self) -> None:
            own = self.begin()
            while own is not None:
                state = self.answer(own)
                if state == b"I" and not pool.full():
                    pool.put(own)
                elif state == b"I":
                    own.close()
                asked = self.asked()
                if asked is None:
                    return
                own = pool.get() if state == b"I" else own
                own.write(asked)

        def begin(self) -> BinaryIO:
            while unpack("!i", (packet := _body(self.rfile))[4:8])[0] in ENCRYPTED:
                self.wfile.write(b"N")
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{address.query['host']}/.s.PGSQL.5432")
            session = server.makefile("rwb", buffering=0)
            server.close()  # with the file
            session.write(packet)
            return session

        def answer(self, session: BinaryIO) -> bytes:
            while (kind := _exactly(session, 1)) != b"Z":
                self.wfile.write(kind + _body(session))
            self.wfile.write(kind + (ready := _body(session)))
            return ready[-1:]

        def asked(self) -> bytes | None:
            asked = b""
            while (kind := self.rfile.read(1)) not in (b"", b"X"):
                asked += kind + _body(self.rfile)
                if kind in ENDS:
                    return asked
            return None

    with ThreadingTCPServer(("127.0.0.1", 0), Client) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        own = address.set(host="127.0.0.1", port=server.server_address[1], query={})
        yield own.render_as_string(hide_password=False)
        server.shutdown()
    while not pool.empty():
        pool.get().close()


def _body(end: BinaryIO) -> bytes:
    """A message's length, and what it has."""
    length = _exactly(end, 4)
    return length + _exactly(end, unpack("!i", length)[0] - 4)


def _exactly(end: BinaryIO, count: int) -> bytes:
    parts = b""
    while len(parts) < count and (part := end.read(count - len(parts))):
        parts += part
    return parts
