"""A model server that lists its models, and nothing else; in a thread, on a free port of the loopback."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET, AF_INET6
from threading import Thread
from time import time

KEY = "sk-a-key-that-nobody-may-see"


@dataclass
class Listing:
    """What it serves: its models, or another status than 200; by a clock that may be wrong."""

    url: str = ""
    models: tuple[str, ...] = ("gpt-fake",)
    key_header: str = "authorization"
    status: int = 200
    ahead_s: float = 0
    asked: list[str] = field(default_factory=list)
    """Method and path of each request."""


@contextmanager
def model_list(host: str = "127.0.0.1", certificate: Path | None = None) -> Iterator[Listing]:
    """Serve until the block ends; by TLS with a `certificate`, a file that has its key too."""
    listing = Listing()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = (self.headers.get(listing.key_header) or "").removeprefix("Bearer ") == KEY
            status = listing.status if known else 401
            data = {"data": [{"id": name} for name in listing.models]} if status == 200 else {"error": "no"}
            content = json.dumps(data).encode()
            listing.asked.append(f"{self.command} {self.path}")  # who sees it may change the listing
            self.send_response_only(status)
            self.send_header("date", formatdate(time() + listing.ahead_s, usegmt=True))
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        address_family = AF_INET6 if ":" in host else AF_INET

    server = Server((host, 0), Handler)
    if certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    listing.url = f"http{'s' if certificate else ''}://{f'[{host}]' if ':' in host else host}:{server.server_port}/v1"
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield listing
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)
