"""A cable between a client and a server on this machine, which can be cut for a while: what is on its way is lost, and
nobody can connect meanwhile."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread

CHUNK = 65_536


class Cable:
    """Leads to a port; `url` is its other end."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._open: set[socket.socket] = set()
        self._adding, self._cut = Lock(), Event()
        self.cuts = 0
        """How many connections were cut."""
        Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._cut.set()
        with self._adding:
            self.cuts += len(self._open) // 2
            for end in self._open:
                _end(end)
            self._open.clear()

    def mend(self) -> None:
        self._cut.clear()

    def close(self) -> None:
        self.cut()
        _end(self._listening)
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                Thread(target=self._lead, args=(client,), daemon=True).start()

    def _lead(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(("127.0.0.1", self._port)) as server:
            with self._adding:
                if self._cut.is_set():
                    return
                self._open |= {client, server}
            back = Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            _pump(client, server)
            back.join()
            with self._adding:
                self._open -= {client, server}


def _pump(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while piece := one.recv(CHUNK):
            other.sendall(piece)
    _end(other)


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


@contextmanager
def cable(port: int) -> Iterator[Cable]:
    made = Cable(port)
    try:
        yield made
    finally:
        made.close()
