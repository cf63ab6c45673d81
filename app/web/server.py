"""The participants' server: start pages, the page, the participant API, and the gate before them."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from app.clock import Clock, WorldClock
from app.config.secret import secret_for
from app.config.settings import Settings
from app.i18n.negotiation import browsers
from app.session.service import Runtime
from app.web.health import inside, live, ready, works
from app.web.metrics import measures_of
from app.web.open_studies import Offered
from app.web.participant import page
from app.web.participant.api import ParticipantApi
from app.web.participant.preview_links import Walks
from app.web.participant.prolific_tokens import ProlificTokens
from app.web.participant.recruiter_links import Links
from app.web.participant.session_cookie import Cookies, session_of
from app.web.participant.start_page import Arrival, trouble
from app.web.participant.tickets import Tickets
from app.web.redaction import place
from app.web.security import Gate
from experiments.errors import StudyError
from experiments.study.resolve import Study
from problems.errors import ParleyError
from problems.plugins import whose
from storage.db.engine import Database
from storage.log.seats import last_us
from storage.registers.participants import Participants
from storage.registers.study_versions import bring

log = logging.getLogger(__name__)
SWEEP_S = 15
APOLOGY = (
    "We cannot save your answers at the moment. Everything that was saved before is safe. Please try again in a minute."
)

NEWER = (
    "%s: since its file was published, version %d (%s) was, which is given to who begins; "
    "to go back to the file: parley publish FILE"
)
BROKEN = "This study cannot continue. Everything you did is saved. Please contact the person who gave you the link."


def build_app(
    settings: Settings,
    database: Database,
    studies: Sequence[Study] = (),
    clock: Clock | None = None,
    *,
    again: bool = False,
    shared: bool = False,
) -> ASGIApp:
    """The whole server for these studies, to be run by uvicorn; with `again`, who has finished may begin anew. It is
    `shared` where other processes serve the same SQLite file.

    Without studies it serves all that are published in the database.
    """
    secret = secret_for(settings, database)
    measures = measures_of(settings, database)
    measured = measures.log if measures else None
    runtime = Runtime(database, settings, clock or WorldClock(last_us(database)), measured, shared=shared)
    for study in studies:
        runtime.prepare(study)
        now = bring(database, study, at_us=runtime.now_us())
        if now.hash != study.hash:
            log.warning(NEWER, study.name, now.file.version, now.hash[:12])
    cookies = Cookies(secret, secure=(settings.public_url or "").startswith("https://"))
    offered = Offered(runtime, database, studies)
    participants = Participants(database, secret)
    links = Links(participants, ProlificTokens(settings))
    tickets, per_address = Tickets(secret), settings.sessions_per_address_per_hour
    arrival = Arrival(runtime, participants, links, cookies, offered, tickets, per_address=per_address, again=again)

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        sweeping = asyncio.create_task(_sweep(runtime))
        yield
        sweeping.cancel()
        await runtime.close()

    checks = {"": works(database), "/live": live, "/ready": ready(runtime.log, runtime.now_us)}
    app = Starlette(
        lifespan=life,
        routes=[
            *ParticipantApi(runtime, cookies).routes(),
            *arrival.routes(),
            Walks(secret).route(runtime, cookies),
            *(Route(f"/healthz{path}", inside(answer), methods=["GET", "HEAD"]) for path, answer in checks.items()),
            *page.routes(),  # which take whatever is left
        ],
        middleware=[
            Middleware(_Doorstep, cookies, arrival),
        ],
        exception_handlers={ParleyError: _apologise, Exception: _apologise},
    )
    gate = Gate(
        app,
        known=cookies.read,
        rate=settings.requests_per_second,
        burst=settings.request_burst,
        people=settings.address_rate_multiplier,
    )
    return measures.around(gate, runtime) if measures else gate


async def _sweep(runtime: Runtime) -> None:
    """Let the clock act on sessions whose people are gone."""
    while True:
        await asyncio.sleep(SWEEP_S)
        try:
            await runtime.sweep()
        except ParleyError as error:
            log.error("the clock could not look for sessions that are due: %s", error)


class _Doorstep:
    """Who comes to `/` without a session is shown to the start page."""

    def __init__(self, app: ASGIApp, cookies: Cookies, arrival: Arrival) -> None:
        self._app = app
        self._cookies = cookies
        self._arrival = arrival

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope) if scope["type"] == "http" else None
        if request is None or scope["path"] != "/" or self._cookies.read(request) is not None:
            await self._app(scope, receive, send)
            return
        try:
            answer = await self._arrival.door(request)
        except ParleyError as error:
            answer = await _apologise(request, error)
        await answer(scope, receive, send)


async def _apologise(request: Request, error: Exception) -> Response:
    """The participant reads a calm sentence and a reference; the researcher finds the cause in the log."""
    reference = secrets.token_hex(4)
    ours = isinstance(error, ParleyError)
    package = None if ours else whose(error)
    fault = f"{error}" if ours else f"{type(error).__name__}: {error}"
    fault += f"; the fault is that of {package}" if package else ""
    log.error("%s %s, session %s: %s [%s]", request.method, place(request), session_of(request), fault, reference)
    say = browsers(request)
    note = f"{say(APOLOGY if ours and not isinstance(error, StudyError) else BROKEN)} ({reference})"
    if request.url.path.startswith("/api/"):
        return JSONResponse({"note": note}, status_code=503)
    return trouble(say.tag, note)
