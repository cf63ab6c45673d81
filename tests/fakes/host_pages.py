"""Pages of other sites: a small web server, reached under several host names of this machine, which are sites to a
browser."""

from __future__ import annotations

from contextlib import AbstractContextManager

from tests.fakes.http_server import Answer, HttpFake, Request, serve


class HostPages(HttpFake):
    """Serves pages by path; `cookies` are set with the page at that path."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, str] = {}
        self.cookies: dict[str, tuple[str, ...]] = {}
        self.sent: dict[str, str] = {}
        """The cookies that came with the last request for a path."""

    def origin(self, host: str = "localhost") -> str:
        return self.url.replace("127.0.0.1", host)

    def answer(self, request: Request) -> Answer:
        body = self.pages.get(request.path, "").encode()
        self.sent[request.path] = request.headers.get("cookie", "")
        set_ = [("set-cookie", cookie) for cookie in self.cookies.get(request.path, ())]
        return Answer(200 if body else 404, body, [("content-type", "text/html; charset=utf-8"), *set_])


def host_pages() -> AbstractContextManager[HostPages]:
    return serve(HostPages())
