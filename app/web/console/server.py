"""The researchers' server: the login, the console's page, and the gate before them."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from app.clock import Clock, SystemClock
from app.config.secret import secret_for
from app.config.settings import Settings
from app.web.console import page, report_page
from app.web.console.auth import Authentication
from app.web.console.context import ConsoleContext
from app.web.console.security import ConsoleSecurity
from app.web.health import database_check, inside
from app.web.redaction import redacted_path
from problems.errors import ParleyError
from storage.accounts.accounts import Accounts
from storage.db.engine import Database
from storage.log.seats import last_us

log = logging.getLogger(__name__)


def build_console(settings: Settings, database: Database, clock: Clock | None = None) -> ASGIApp:
    """The whole console, to be run by uvicorn in a process of its own."""
    clock, secret = clock or SystemClock(last_us(database)), secret_for(settings, database)
    accounts = Accounts(database, clock.now_us)
    access = Authentication(accounts, secret, clock, secure=(settings.console_url or "").startswith("https://"))
    return ConsoleSecurity(
        build_app(ConsoleContext(settings, database, secret, clock, accounts), access.routes()), access.visitor
    )


def build_app(desk: ConsoleContext, login: Sequence[BaseRoute] = ()) -> Starlette:
    """The console of a desk, with these routes for the `login` and without a gate."""

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        yield
        desk.downloads.close()
        await desk.sessions.close()

    return Starlette(
        lifespan=life,
        routes=[
            *login,
            Route("/healthz", inside(database_check(desk.database)), methods=["GET", "HEAD"]),
            report_page.route(desk),
            desk.downloads.route(),
            *page.routes(desk),  # which take whatever is left
        ],
        exception_handlers={ParleyError: _apologise},
    )


async def _apologise(request: Request, error: Exception) -> Response:
    """Whoever asks may be a stranger, so the cause is in the server's log alone."""
    reference = secrets.token_hex(4)
    log.error("%s %s: %s [%s]", request.method, redacted_path(request), error, reference)
    return JSONResponse(
        {"note": f"This is not possible at the moment. The server's log has the cause under {reference}."}, 503
    )
