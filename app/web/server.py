"""The participants' server: start pages, the page, the participant API, and the security middleware around them."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from app.annotation.judge import judge_question
from app.clock import Clock, SystemClock
from app.config.saved_servers import with_saved_servers
from app.config.secret import secret_for
from app.config.settings import Settings
from app.i18n.negotiation import from_accept_language
from app.session.reminders.sender import ReminderTask, Reminding
from app.session.retention import RetentionTask
from app.session.service import SessionService
from app.session.signed_links import REHEARSAL_HEADER, PreviewLinks, RehearsalLinks, Tickets, TrialLinks
from app.use_cases.prolific_task import ProlificTask
from app.use_cases.remind import reminder_channels
from app.web import gradio_import, pictures  # noqa: F401  (Gradio is first imported by it)
from app.web.health import database_check, inside, liveness, readiness
from app.web.open_studies import OpenStudies
from app.web.participant import page
from app.web.participant.api import ParticipantApi
from app.web.participant.prolific_tokens import ProlificTokens
from app.web.participant.prolific_webhook import ProlificWebhook
from app.web.participant.recruiter_links import Links
from app.web.participant.reminder_page import ReminderPage
from app.web.participant.session_cookie import SessionCookie, session_of
from app.web.participant.start_page import StartPage, not_found_page, storage_error_page
from app.web.participant.wave_pages import return_path
from app.web.redaction import redacted_path
from app.web.security import SecurityMiddleware, is_route
from app.web.sub_path import SubPath
from experiments.errors import StudyError
from experiments.study.study import Study
from problems.errors import ParleyError
from storage.db.advisory_locks import AdvisoryLocks
from storage.db.engine import Database
from storage.log.seats import last_us
from storage.registers.contacts import Contacts
from storage.registers.origins import Origin
from storage.registers.participants import Participants
from storage.registers.persons import Person
from storage.registers.study_versions import publish_on_start

if TYPE_CHECKING:
    from app.alerts import AlertWatch

log = logging.getLogger(__name__)
# How often a server does what it does by itself; the last also at its start.
EVERY_S = {"deadlines": 15.0, "alerts": 60.0, "prolific": 15.0, "reminders": 60.0, "retention": 86_400.0}
APOLOGY = (
    "We cannot save your answers at the moment. Everything that was saved before is safe. Please try again in a minute."
)

NEWER = (
    "%s: version %d (%s) was published later than this file; new sessions get that version. "
    "To go back to the file: parley publish FILE"
)
BROKEN = "This study cannot continue. Everything you did is saved. Please contact the person who gave you the link."


def build_app(
    settings: Settings,
    database: Database,
    studies: Sequence[Study] = (),
    clock: Clock | None = None,
    *,
    again: bool = False,
) -> ASGIApp:
    """The participants' server as an ASGI application for uvicorn. Without `studies` it serves all that are published
    in the database. With `again`, a browser whose session has ended can start another."""
    settings, secret = with_saved_servers(settings, database), secret_for(settings, database)
    clock = clock or SystemClock(last_us(database))
    service = SessionService(database, settings, clock, judge_question)
    for study in studies:
        service.prepare(study)
        now = publish_on_start(database, study, at_us=service.now_us())
        if now.hash != study.hash:
            log.warning(NEWER, study.name, now.file.version, now.hash[:12])
    cookies = SessionCookie(secret, secure=settings.address.startswith("https://"), path=settings.sub_path or "/")
    # as registered: without the content of their pictures, which the database has
    offered = OpenStudies(service, database, [service.studies.get(study.hash) for study in studies])
    participants = Participants(database, secret)
    rehearsals = RehearsalLinks(secret)
    links = Links(participants, ProlificTokens(settings), TrialLinks(secret), rehearsals)
    contacts = Contacts(database, participants)
    reminders = _reminders(settings, service, participants, contacts, clock)
    more: dict[str, Any] = {
        "address": settings.address,
        "reminds_by": reminders.channels,
        "per_address": settings.sessions_per_address_per_hour,
        "again": again,
    }
    arrival = StartPage(service, database, participants, links, cookies, offered, Tickets(secret), **more)
    retention = RetentionTask(service, database, participants)
    prolific = ProlificTask(settings, database, participants, clock)

    work = (
        partial(_repeat, "deadlines", service.sweep),
        partial(_repeat, "alerts", _watch(settings, database, clock, service)),
        partial(_repeat, "prolific", prolific.once, service.claims),
        partial(_repeat, "reminders", reminders.once, service.claims),
        partial(_repeat, "retention", retention.once, service.claims, at_once=True),
    )
    checks = {"": database_check(database), "/live": liveness, "/ready": readiness(service.log, service.now_us)}
    app = Starlette(
        lifespan=_lifespan(service, offered, work),
        routes=[
            *ParticipantApi(service, cookies, partial(return_path, participants), settings.address).routes(),
            *arrival.routes(),
            ProlificWebhook(settings, database, participants, clock).route(),
            *ReminderPage(service, participants, contacts, reminders.channels).routes(),
            _preview_route(PreviewLinks(secret), service, cookies),
            pictures.participants_route(service, cookies),
            pictures.participants_own_route(service, cookies),
            *(Route(f"/healthz{path}", inside(answer), methods=["GET", "HEAD"]) for path, answer in checks.items()),
            # last, because they match every path
            *page.routes(settings.sub_path, [Middleware(RedirectWithoutSession, cookies=cookies, start_page=arrival)]),
        ],
        exception_handlers={ParleyError: error_response, Exception: error_response},
    )
    gate = SecurityMiddleware(
        app,
        known=cookies.read_any,
        exempt={REHEARSAL_HEADER: rehearsals.holds},
        failure_page=arrival.failure_page,
        address=settings.address,
        rate=settings.requests_per_second,
        burst=settings.request_burst,
        people=settings.address_rate_multiplier,
    )
    return SubPath(gate, settings.sub_path, is_route) if settings.sub_path else gate


def _lifespan(
    service: SessionService, offered: OpenStudies, work: Sequence[Callable[[], Coroutine[Any, Any, None]]]
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        await offered.names()  # whatever is published and lacks something here is logged now, not when people come
        tasks = [asyncio.create_task(begin()) for begin in work]
        for task in tasks:
            task.add_done_callback(_log_end)
        yield
        for task in tasks:
            task.cancel()
        await service.close()

    return life


def _reminders(
    settings: Settings, service: SessionService, participants: Participants, contacts: Contacts, clock: Clock
) -> ReminderTask:
    def links(person: Person) -> tuple[str, str]:
        own, reminders = (return_path(participants, person, below) for below in ("", "/reminders"))
        return f"{settings.address}{own}", f"{settings.address}{reminders}"

    database = contacts.database
    channels = reminder_channels(settings, database, service.now_us)
    reminding = Reminding(service, channels, contacts.reach, links)
    return ReminderTask(reminding, database, clock, settings.reminders_per_minute)


async def _repeat(
    what: str, once: Callable[[], Awaitable[object]], claims: AdvisoryLocks | None = None, *, at_once: bool = False
) -> None:
    """Repeat something; with `claims`, only that server over one database does it which has the claim."""
    while True:
        if not at_once:
            await asyncio.sleep(EVERY_S[what])
        at_once = False
        try:
            if claims is None or await asyncio.wrap_future(claims.acquire(what)):
                await once()
        except (ParleyError, OSError) as error:
            log.error("%s: failed; retrying later: %s", what, error)


def _watch(
    settings: Settings, database: Database, clock: Clock, service: SessionService
) -> Callable[[], Awaitable[object]]:
    """Looks for what needs a person; the first page waits for none of what that imports."""

    @cache
    def made() -> AlertWatch:
        from app.alerts import AlertWatch

        return AlertWatch(settings, database, clock, lambda: service.log.fault)

    async def once() -> None:
        await (await asyncio.to_thread(made)).check()

    return once


def _log_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("a background task of this server has failed: restart the server", exc_info=error)


class RedirectWithoutSession:
    """Redirects requests for `/` without a session to the start page, except in a frame, whose page has a token."""

    def __init__(self, app: ASGIApp, cookies: SessionCookie, start_page: StartPage) -> None:
        self._app = app
        self._cookies = cookies
        self._start_page = start_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        try:
            embedded = await self._start_page.embedded(request)
            if embedded or self._cookies.read(request) is not None:
                await self._app(scope, receive, send)
                return
            answer = await self._start_page.root(request)
        except ParleyError as error:
            answer = await error_response(request, error)
        await answer(scope, receive, send)


async def error_response(request: Request, error: Exception) -> Response:
    """The response to an unexpected error: a sentence and a reference, under which the log has the cause."""
    reference = secrets.token_hex(4)
    expected = isinstance(error, ParleyError)
    fault = f"{error}" if expected else f"{type(error).__name__}: {error}"
    log.error(
        "%s %s, session %s: %s [%s]", request.method, redacted_path(request), session_of(request), fault, reference
    )
    say = from_accept_language(request)
    note = f"{say(APOLOGY if expected and not isinstance(error, StudyError) else BROKEN)} ({reference})"
    if request.url.path.startswith("/api/"):
        return JSONResponse({"note": note}, status_code=503)
    return storage_error_page(say.tag, note)


def _preview_route(links: PreviewLinks, service: SessionService, cookies: SessionCookie) -> Route:
    """`/walk/{token}`: sets the session's cookie and redirects to the page."""

    async def go_on(request: Request) -> Response:
        stream = links.stream(request.path_params["token"])
        session = await service.reload(stream) if stream else None
        if session is None or session.state.enrolled.get("origin") != Origin.PILOT:
            return not_found_page(request)
        response = RedirectResponse("/", status_code=303)
        cookies.write(response, session.stream)
        return response

    return Route("/walk/{token}", go_on, methods=["GET", "HEAD"])
