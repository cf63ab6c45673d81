"""A small HTTP server in a thread, on a free port of the loopback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Quiet(BaseHTTPRequestHandler):
    """Logs nothing."""

    def send(self, status: int, content: bytes, headers: Mapping[str, str] | Sequence[tuple[str, str]] = ()) -> None:
        self.send_response_only(status)
        given = [*headers.items()] if isinstance(headers, Mapping) else [*headers]
        if not any(name.lower() == "content-length" for name, _ in given):
            given.append(("content-length", str(len(content))))
        for name, value in given:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler], **known: Any) -> Iterator[int]:
    """The port at which requests are answered until the block ends; `known` are attributes of the handler."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (handler,), known))
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()  # first, as a socket that is waited on goes on taking connections after it was closed
        server.server_close()
        thread.join(60)
