"""The researchers' server: the login, the console's page, and the security middleware around them."""

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
from app.extension import extensions, imported
from app.studies.draft_files import sweep_uploads
from app.web import gradio_import, pictures  # noqa: F401  (Gradio is first imported by it)
from app.web.console import page, uploads
from app.web.console.auth import Authentication
from app.web.console.context import ConsoleContext
from app.web.console.security import ConsoleSecurity, is_route
from app.web.health import database_check, inside
from app.web.redaction import redacted_path
from app.web.sub_path import SubPath
from problems.errors import ParleyError
from storage.accounts.accounts import Accounts
from storage.db.engine import Database
from storage.log.seats import last_us

log = logging.getLogger(__name__)


def build_console(settings: Settings, database: Database, clock: Clock | None = None) -> ASGIApp:
    """The console as an ASGI application for uvicorn, in a separate process."""
    clock, secret = clock or SystemClock(last_us(database)), secret_for(settings, database)
    sweep_uploads(settings.studies_dir)
    accounts = Accounts(database, clock.now_us)
    secure, path = settings.console_address.startswith("https://"), settings.console_sub_path
    access = Authentication(accounts, secret, secure=secure, path=path or "/")
    app = build_app(ConsoleContext(settings, database, secret, clock, accounts), access.routes())
    gate = ConsoleSecurity(app, access.visitor, settings.console_address)
    return SubPath(gate, path, is_route) if path else gate


def build_app(context: ConsoleContext, login: Sequence[BaseRoute] = ()) -> Starlette:
    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        yield
        await context.close()

    return Starlette(
        lifespan=life,
        routes=[
            *login,
            Route("/healthz", inside(database_check(context.database)), methods=["GET", "HEAD"]),
            *(imported(place)(context) for extension in extensions() for place in extension.routes),
            pictures.researchers_route(context.studies),
            pictures.researchers_attached_route(context.database),
            *uploads.routes(context),
            context.downloads.route(),
            *page.routes(context),  # last, because they match every path
        ],
        exception_handlers={ParleyError: _error_response},
    )


async def _error_response(request: Request, error: Exception) -> Response:
    """The response to an unexpected error. The cause is only in the log, as the client may not be logged in."""
    reference = secrets.token_hex(4)
    log.error("%s %s: %s [%s]", request.method, redacted_path(request), error, reference)
    return JSONResponse(
        {"note": f"This is not possible at the moment. The server's log has the cause under {reference}."}, 503
    )
