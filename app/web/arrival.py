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

from app.languages import catalogue
from app.runtime import Live, Runtime
from app.web.cookies import Cookies
from app.web.tongue import browsers, offered, wanted
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
            return lost(request)
        live = await self._here_already(request, study)
        language = live.language if live else wanted(request, study.file)
        if not live and await self._runtime.closed(study):
            return closed(study, language)
        return page(
            "start.html.j2",
            language,
            title=study.say(study.file.title, language),
            returns=live is not None,
            ticket=secrets.token_urlsafe(24),
            choices=[] if live else _choices(request, study),
        )

    async def start(self, request: Request) -> Response:
        """Begin, or go on where one was; then the address is clean."""
        study = self._open.get(request.path_params["study"])
        if study is None:
            return lost(request)
        live = await self._here_already(request, study)
        if live is None:
            form = parse_qs((await request.body()).decode("ascii", "replace"))
            language = offered(form.get("language", [""])[0], study.file) or wanted(request, study.file)
            try:
                live = await self._enrol(study, person_of(request), _ticket(form), language)
            except Refused:
                return closed(study, language)
            except StudyError as error:
                log.error("nobody can begin %s: %s", study.name, error)
                return page("sorry.html.j2", language, status=503, title=study.say(study.file.title, language))
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

    async def _enrol(self, study: Study, person: Person | None, stream: str, language: str) -> Live:
        identity = self._participants.entry(study.name, person) if person else None
        given = {"language": language} if len(study.file.offered) > 1 else {}
        try:
            return await self._runtime.enrol(study, origin="person", identity=identity, stream=stream, **given)
        except (Conflict, Refused):
            # The same person in another tab was first, or the button was clicked twice.
            if person is not None:
                found = await asyncio.to_thread(self._participants.find, study.name, person)
                stream = found or stream
            live = await self._runtime.live(stream) if stream else None
            if live is None:
                raise
            return live


def _choices(request: Request, study: Study) -> list[dict[str, str]]:
    """The study's languages, each with the link to this page in it."""
    found = []
    for tag in study.file.offered:
        link = f"?{request.url.include_query_params(lang=tag).query}"
        say = catalogue(tag)
        found.append({"tag": tag, "name": say.name, "direction": say.direction, "link": link})
    return found


def _ticket(form: Mapping[str, list[str]]) -> str:
    """The session that a start page's button makes, whoever clicks it twice; empty for a page without a ticket."""
    ticket = form.get("ticket", [""])[0]
    return str(uuid5(NAMESPACE_URL, f"parley:ticket:{ticket}")) if len(ticket) >= TICKET_CHARS else ""


def person_of(request: Request) -> Person | None:
    """The recruiter's id in a link; None if it has none."""
    for recruiter, parameter in RECRUITERS.items():
        given = request.query_params.get(parameter, "").strip()
        if given:
            return Person(recruiter, given[:ID_CHARS])
    return None


def closed(study: Study, language: str) -> Response:
    """For who comes while nobody new can begin."""
    title, contact = (study.say(text, language) for text in (study.file.title, study.file.contact))
    return page("closed.html.j2", language, title=title, contact=contact)


def lost(request: Request) -> Response:
    """For a link that leads nowhere here."""
    say = browsers(request)
    return page("lost.html.j2", say.tag, status=404, title=say("Nothing here"))


def page(template: str, language: str, *, status: int = 200, **values: object) -> Response:
    """One of the plain pages around a study, in a language."""
    say = catalogue(language)
    known = {**values, "language": language, "direction": say.direction, "t": say}
    return HTMLResponse(_TEMPLATES.get_template(template).render(known), status_code=status)
