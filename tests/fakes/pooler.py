"""A small pooler in transaction mode before PostgreSQL: a client has one of its sessions for one transaction."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from queue import Full, LifoQueue, Queue
from socketserver import StreamRequestHandler, ThreadingTCPServer
from struct import unpack
from threading import Thread

from sqlalchemy import make_url

# The codes by which a client asks for TLS and for GSSAPI before it begins.
ENCRYPTED = (80877103, 80877104)
# The messages after which a client waits for an answer: a query, and Sync.
ENDS = b"QS"


@contextmanager
def pooled(url: str, sessions: int, *, in_turn: bool) -> Iterator[str]:
    """The URL of a pooler with so many sessions before a database; the last used is taken first, or all `in_turn`."""
    address = make_url(url)
    with Pooler(f"{address.query['host']}/.s.PGSQL.5432", (Queue if in_turn else LifoQueue)(sessions)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        own = address.set(host="127.0.0.1", port=server.server_address[1], query={})
        yield own.render_as_string(hide_password=False)
        server.shutdown()
    while not server.pool.empty():
        server.pool.get().close()


class Pooler(ThreadingTCPServer):
    """A `pool` of sessions of the PostgreSQL at a socket's path."""

    daemon_threads = True

    def __init__(self, path: str, pool: Queue[BufferedIOBase]) -> None:
        super().__init__(("127.0.0.1", 0), Client)
        self.path, self.pool = path, pool


class Client(StreamRequestHandler):
    """One client. Each begins with a session of its own, which the pool keeps while it has room."""

    server: Pooler

    def handle(self) -> None:
        own, pool = self._begin(), self.server.pool
        while True:
            answered, ready = self._answer(own)
            if idle := ready.endswith(b"I"):
                _give_back(own, pool)  # before the client is told, who asks again at once
            self.wfile.write(answered + ready)
            asked = self._asked()
            if asked is None:
                return
            own = pool.get() if idle else own
            own.write(asked)
            own.flush()

    def _begin(self) -> BufferedIOBase:
        while unpack("!i", (packet := _body(self.rfile))[4:8])[0] in ENCRYPTED:
            self.wfile.write(b"N")
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(self.server.path)
            session = server.makefile("rwb")
        session.write(packet)
        session.flush()
        return session

    def _answer(self, session: BufferedIOBase) -> tuple[bytes, bytes]:
        """Read a session's answer until it is ready, and the message that it is, which ends with its state."""
        answered = b""
        while (kind := session.read(1)) != b"Z":
            answered += kind + _body(session)
        return answered, kind + _body(session)

    def _asked(self) -> bytes | None:
        """Read the client's request, up to where it waits for an answer; None when it leaves."""
        asked = b""
        while (kind := self.rfile.read(1)) not in (b"", b"X"):
            asked += kind + _body(self.rfile)
            if kind in ENDS:
                return asked
        return None


def _give_back(session: BufferedIOBase, pool: Queue[BufferedIOBase]) -> None:
    try:
        pool.put_nowait(session)
    except Full:
        session.close()


def _body(end: BufferedIOBase) -> bytes:
    length = end.read(4)
    return length + end.read(unpack("!i", length)[0] - 4)
