"""Arrival: the start page that a link leads to, whose button makes the session.

The button keeps link scanners from becoming participants. A recruiter's id leads the same person back to the same
session from any device; it is in no URL after the first page.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs
from uuid import NAMESPACE_URL, uuid5

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from app.runtime import Live, Runtime
from app.web.cookies import Cookies
from experiments.core.resolve import Study
from experiments.errors import Refused, StudyError
from storage.errors import Conflict
from storage.participants import Participants, Person

RECRUITERS = {"prolific": "PROLIFIC_PID", "connect": "participantId", "sona": "survey_code", "panel": "pid"}
"""Recruiters and the parameter in which their links carry a person's id."""
log = logging.getLogger(__name__)
ID_CHARS = 100
TICKET_CHARS = 32

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "pages"), autoescape=True, undefined=StrictUndefined
)


class Arrival:
    """The start pages of the studies that are open here; with `again`, who has finished may begin anew."""

    def __init__(
        self,
        runtime: Runtime,
        participants: Participants,
        cookies: Cookies,
        open_studies: Mapping[str, Study],
        *,
        again: bool = False,
    ) -> None:
        self._runtime = runtime
        self._participants = participants
        self._cookies = cookies
        self._open = open_studies
        self._again = again

    def routes(self) -> list[Route]:
        """`/s/{study}`: read it, then press its button."""
        return [
            Route("/s/{study}", self.greet, methods=["GET", "HEAD"]),
            Route("/s/{study}", self.start, methods=["POST"]),
        ]

    async def greet(self, request: Request) -> Response:
        """The start page: what the study is called, and a button."""
        study = self._open.get(request.path_params["study"])
        if study is None:
            return lost()
        returns = await self._here_already(request, study) is not None
        if not returns and await self._runtime.closed(study):
            return closed(study)
        ticket = secrets.token_urlsafe(24)
        file = study.file
        return page("start.html.j2", title=file.title, language=file.language, returns=returns, ticket=ticket)

    async def start(self, request: Request) -> Response:
        """Begin, or go on where one was; then the address is clean."""
        study = self._open.get(request.path_params["study"])
        if study is None:
            return lost()
        live = await self._here_already(request, study)
        if live is None:
            try:
                live = await self._enrol(study, person_of(request), _ticket(await request.body()))
            except Refused:
                return closed(study)
            except StudyError as error:
                log.error("nobody can begin %s: %s", study.name, error)
                return page("sorry.html.j2", status=503, title=study.file.title, language=study.file.language)
        response = RedirectResponse("/", status_code=303)
        self._cookies.write(response, live.stream, study.name)
        return response

    def only(self) -> str | None:
        """The start page's address, where a single study is open."""
        return f"/s/{next(iter(self._open))}" if len(self._open) == 1 else None

    async def _here_already(self, request: Request, study: Study) -> Live | None:
        """The session that the request's person or browser already has; an id counts more than a cookie."""
        person = person_of(request)
        if person is not None:
            stream = await asyncio.to_thread(self._participants.find, study.name, person)
        else:
            stream = self._cookies.read(request, study.name)
        live = await self._runtime.live(stream) if stream else None
        if live is None or live.study.name != study.name or (self._again and live.screen.ended):
            return None
        return live

    async def _enrol(self, study: Study, person: Person | None, stream: str) -> Live:
        identity = self._participants.entry(study.name, person) if person else None
        try:
            return await self._runtime.enrol(study, origin="person", identity=identity, stream=stream)
        except (Conflict, Refused):
            # The same person in another tab was first, or the button was clicked twice.
            if person is not None:
                found = await asyncio.to_thread(self._participants.find, study.name, person)
                stream = found or stream
            live = await self._runtime.live(stream) if stream else None
            if live is None:
                raise
            return live


def _ticket(body: bytes) -> str:
    """The session that a start page's button makes, whoever clicks it twice; empty for a page without a ticket."""
    ticket = parse_qs(body.decode("ascii", "replace")).get("ticket", [""])[0]
    return str(uuid5(NAMESPACE_URL, f"parley:ticket:{ticket}")) if len(ticket) >= TICKET_CHARS else ""


def person_of(request: Request) -> Person | None:
    """The recruiter's id in a link; None if it has none."""
    for recruiter, parameter in RECRUITERS.items():
        given = request.query_params.get(parameter, "").strip()
        if given:
            return Person(recruiter, given[:ID_CHARS])
    return None


def closed(study: Study) -> Response:
    """For who comes while nobody new can begin."""
    return page("closed.html.j2", title=study.file.title, language=study.file.language, contact=study.file.contact)


def lost() -> Response:
    """For a link that leads nowhere here."""
    return page("lost.html.j2", status=404, title="Nothing here", language="en")


def page(template: str, *, status: int = 200, **values: object) -> Response:
    """One of the plain pages around a study."""
    return HTMLResponse(_TEMPLATES.get_template(template).render(values), status_code=status)
