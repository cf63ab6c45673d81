"""The researchers' server: the login, the console's page, and the gate before them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp

from app.clock import Clock, WorldClock
from app.settings import Settings
from app.web.console import page, report
from app.web.console.access import Access
from app.web.console.desk import Desk
from app.web.console.gate import Gate
from app.web.health import health
from app.web.secret import secret_of
from storage.accounts.accounts import Accounts
from storage.engine import Database


def build_console(settings: Settings, database: Database, clock: Clock | None = None) -> ASGIApp:
    """The whole console, to be run by uvicorn in a process of its own."""
    clock, secret = clock or WorldClock(), secret_of(settings)
    accounts = Accounts(database, clock.now_us)
    access = Access(accounts, secret, secure=(settings.console_url or "").startswith("https://"))
    app = build_app(Desk(settings, database, secret, clock, accounts))
    app.router.routes[:0] = [*access.routes(), Route("/healthz", health(database), methods=["GET", "HEAD"])]
    return Gate(app, access.visitor)


def build_app(desk: Desk) -> FastAPI:
    """The console of a desk, without its login and its gate."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        desk.close()

    app = FastAPI(title="Parley: console", lifespan=life, docs_url=None, redoc_url=None, openapi_url=None)
    report.add(app, desk)
    app.router.routes.append(desk.downloads.route())
    return page.mount(app, desk)
