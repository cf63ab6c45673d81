"""Pages of other sites: a small web server, reached under several host names of this machine, which are sites to a
browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class HostPages:
    """Its port, and what it serves by path; `cookies` are set with the page at that path."""

    port: int = 0
    pages: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, tuple[str, ...]] = field(default_factory=dict)
    sent: dict[str, str] = field(default_factory=dict)
    """The cookies that came with the last request for a path."""

    def origin(self, host: str = "localhost") -> str:
        return f"http://{host}:{self.port}"


@contextmanager
def host_pages() -> Iterator[HostPages]:
    site = HostPages()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            body = site.pages.get(path, "").encode()
            site.sent[path] = self.headers.get("cookie", "")
            self.send_response(200 if body else 404)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(body)))
            for cookie in site.cookies.get(path, ()):
                self.send_header("set-cookie", cookie)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.port = server.server_port
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
