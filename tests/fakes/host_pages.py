"""Pages of other sites: a small web server, reached under several host names of this machine, which are sites to a
browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.fakes.listening import Quiet, listening


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


class Handler(Quiet):
    site: HostPages

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        body = self.site.pages.get(path, "").encode()
        self.site.sent[path] = self.headers.get("cookie", "")
        cookies = [("set-cookie", cookie) for cookie in self.site.cookies.get(path, ())]
        self.send(200 if body else 404, body, [("content-type", "text/html; charset=utf-8"), *cookies])


@contextmanager
def host_pages() -> Iterator[HostPages]:
    site = HostPages()
    with listening(Handler, site=site) as site.port:
        yield site
