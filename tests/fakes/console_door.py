"""The console's gate and login around an application that answers whatever reaches it, and says who asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from app.web.console.auth import Authentication
from app.web.console.current_user import VISITOR
from app.web.console.security import ConsoleSecurity
from tests.fakes.accounts import Place
from tests.fakes.served import SECRET

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
ADDRESS = "198.51.100.7"


def behind(place: Place, *, secure: bool = False) -> ASGIApp:
    """The gate, the login, and behind them something that says what reached it and from whom."""
    access = Authentication(place.accounts, SECRET, secure=secure)

    async def healthy(_: Request) -> Response:
        return PlainTextResponse("ok")

    async def reached(request: Request) -> Response:
        visitor = request.scope[VISITOR]
        body = await request.body()
        return JSONResponse({"reached": request.url.path, "by": visitor and visitor.name, "bytes": len(body)})

    routes = [*access.routes(), Route("/healthz", healthy), Route("/{path:path}", reached, methods=METHODS)]
    return ConsoleSecurity(
        Starlette(routes=routes), access.visitor, f"{'https' if secure else 'http'}://console.example:7861"
    )


@dataclass
class Browser:
    """A browser at the console: keeps cookies, says where it comes from, and sends forms as they stand."""

    client: httpx2.AsyncClient

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        return await self.client.get(path, headers={"accept": "text/html,*/*;q=0.8", **headers})

    async def send(self, path: str, form: dict[str, str] | None = None, **more: Any) -> httpx2.Response:
        headers = {"origin": str(self.client.base_url).rstrip("/"), **more.pop("headers", {})}
        return await self.client.post(path, data=form or {}, headers=headers, **more)

    async def log_in(self, name: str, password: str, path: str = "/login") -> httpx2.Response:
        return await self.send(path, {"mark": mark(await self.get(path)), "name": name, "password": password})


def browser(application: ASGIApp, *, scheme: str = "http", address: str = ADDRESS) -> Browser:
    transport = httpx2.ASGITransport(app=application, client=(address, 1))
    return Browser(httpx2.AsyncClient(transport=transport, base_url=f"{scheme}://console.example:7861"))


def mark(page: httpx2.Response) -> str:
    found = re.search(r'name="mark" value="([0-9a-f]{64})"', page.text)
    assert found, page.text
    return found[1]
