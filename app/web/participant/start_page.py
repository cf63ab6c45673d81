"""The start page of a study. Its button creates the session.

The button keeps link scanners from becoming participants. A proven id (recruiter_links.py) leads back to the person's
session from any device. An id without proof never does, and the pages do not reveal whether it is known. No URL after
the first page contains the id.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from app.i18n.catalogues import catalogue
from app.i18n.negotiation import from_accept_language, negotiate_request, offered
from app.session.budget_gate import BUDGET
from app.session.replies.request import SCRIPTED
from app.session.service import SessionService
from app.session.signed_links import RETURN_PARAMETER, Tickets
from app.session.transitions import LoadedSession
from app.web.frames import EMBED, framed_page, is_framed, let_frame
from app.web.open_studies import OpenStudies, OpenStudy
from app.web.participant.recruiter_links import IdentityClaim, Links, Refusal, recruiter_labels, refusal
from app.web.participant.returning import Returning, ReturnResult, cookie_of
from app.web.participant.session_cookie import SessionCookie
from app.web.participant.wave_pages import NextPart, WavePages
from app.web.throttled_log import LINK_PROBLEM, MANY_FORGED, MANY_NEW, NOT_SECURE, ThrottledWarning
from experiments.errors import Refused, StudyError, ValidationIssue
from experiments.session.desk import RESUBMITTED
from experiments.session.engine import end_page
from experiments.session.outcomes import redirect_url
from experiments.study.sections.reminders import Channel
from experiments.study.sections.waves import is_zone
from experiments.study.study import Study
from storage.client_networks import AddressLimiter
from storage.db.engine import Database
from storage.errors import Conflict, StorageError
from storage.registers.link_problems import count_link_problem
from storage.registers.origins import Origin
from storage.registers.participants import ParticipantId, Participants

log = logging.getLogger(__name__)
HOUR_S = 3600
# The pages in place of a study, and their statuses: for somebody who only looks at a recruiter's task, took part in a
# study that can be taken once, or withdrew (or whose data were deleted after their period); where nobody can start, the
# browser keeps no cookies, in which no session could be found again, or the link is not accepted, as one without an id
# or a proof; and where something is wrong with the server, or a proxy before it. `error` has a note of its own.
NOTICES: Mapping[str, int] = {
    **dict.fromkeys(("accept_first", "already_taken_part", "closed", "no_open_studies"), 200),
    **{"withdrawn": 410, "cookies_needed": 403, "link_not_accepted": 403, "not_found": 404},
    **{"too_many_starts": 429, "unavailable": 503, "error": 503},
}
# The rate limit for links with an invalid proof from one address: a burst, and a rate per second after it. A whole
# class may share an address and use last week's links.
FORGED_AT_ONCE, FORGED_A_SECOND = 60, 0.2
TRIES = 10

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "pages"),
    autoescape=True,
    undefined=StrictUndefined,
    auto_reload=False,
)


def _form(body: bytes) -> dict[str, str]:
    """Read the form of a start page; all of it may be forged."""
    sent = parse_qs(body.decode("ascii", "replace"))
    form = {name: sent.get(name, [""])[0] for name in ("ticket", "language", "session", "last", "zone", "early")}
    return form | {"zone": form["zone"] if is_zone(form["zone"]) else ""}


class StartPage:
    """The start pages. `again` allows another session after one; `per_address` can start from an address in an hour."""

    def __init__(
        self,
        service: SessionService,
        database: Database,
        participants: Participants,
        links: Links,
        cookies: SessionCookie,
        open_studies: OpenStudies,
        tickets: Tickets,
        *,
        address: str,
        per_address: int,
        reminds_by: Collection[Channel] = (),
        again: bool = False,
    ) -> None:
        self._service = service
        self._waves = WavePages(service, database, participants, address, reminds_by)
        self._participants = participants
        self._links = links
        self._returning = Returning(service, participants, cookies, again=again)
        self._tickets = tickets
        self._forged = AddressLimiter(FORGED_A_SECOND, FORGED_AT_ONCE)
        self._new = AddressLimiter(per_address / HOUR_S, per_address)
        self._cookies = cookies
        self._open_studies = open_studies
        self._database = database
        self._counted = AddressLimiter(FORGED_A_SECOND, FORGED_AT_ONCE)
        self._not_secure, self._many_forged, self._many_new = (
            ThrottledWarning(NOT_SECURE),
            ThrottledWarning(MANY_FORGED),
            ThrottledWarning(MANY_NEW),
        )
        self._link_problems: defaultdict[tuple[str, Refusal], ThrottledWarning] = defaultdict(
            partial(ThrottledWarning, LINK_PROBLEM)
        )

    def routes(self) -> list[Route]:
        """`/s/{study}`: the start page, its button (POST), a calendar file; `/out` and `/next` redirect."""
        return [
            Route("/s/{study}", self.show, methods=["GET", "HEAD"]),
            Route("/s/{study}", self.start, methods=["POST"]),
            Route("/s/{study}/calendar.ics", self.calendar, methods=["GET", "HEAD"]),
            Route("/next", self.redirect_to_next, methods=["GET", "HEAD"]),
            Route("/out", self.redirect_out, methods=["GET", "HEAD"]),
        ]

    async def show(self, request: Request) -> Response:
        offer = await self._offer(request)
        if offer is None:
            return not_found_page(request)
        study = offer.study
        let_frame(request, study)
        framed = is_framed(request, study)
        who, language = await self._links.claim(request.query_params, study), negotiate_request(request, study.file)
        found = await self._returning.found(request, study, who, framed=framed)
        found, part = await self._waves.arrive(found, who)
        closed = part is not None and await self._waves.is_closed(part)
        if part is not None and (part.upcoming or closed):
            return self._between(part, closed=closed)
        known = found.live or found.ended
        refused = known is None and part is None and await self._refused(request, offer, who, found, language)
        if refused:
            return refused
        language = part.language if part else found.live.language if found.live else language
        response = _around(
            study,
            "start.html.j2",
            language,
            returns=found.live is not None,
            ended=known is not None and bool(known.state.outcome),
            code=known is not None and bool(known.state.outcome and end_page(known.study, known.state).code),
            withdrawn=known is not None and known.state.outcome == "withdrawn",
            ticket=self._tickets.new(study.name, with_cookie=True),
            choices=[] if found.live or part else _choices(request, study),
            waves=bool(study.waves),
            part=self._waves.values(part) if part else None,
            framed=study.name if framed else "",
        )
        if not framed:
            self._cookies.write_test(response)
        return response

    async def _refused(
        self, request: Request, open_study: OpenStudy, claim: IdentityClaim, result: ReturnResult, language: str
    ) -> Response | None:
        """The page for somebody without a session who cannot start one; None for anybody else."""
        study = open_study.study
        if await self._is_erased(claim):
            return notice_page(study, "withdrawn", language)
        if (why := refusal(claim, study.file.recruitment)) is not None:
            if request.method == "GET" and not claim.untold and not claim.unaccepted:
                await self._count(request, study, claim, why)
            return self._not_taken(request, study, claim, language)
        if result.once:
            return notice_page(study, "already_taken_part", language)
        if await self._is_closed(study, claim):
            return notice_page(study, "closed", language)
        return None if open_study.ready else notice_page(study, "unavailable", language)

    async def _offer(self, request: Request) -> OpenStudy | None:
        """The study as it is offered, or as a person with a return link takes part in it, also at a draft."""
        name, token = request.path_params["study"], request.query_params.get(RETURN_PARAMETER, "")
        offer = await self._open_studies.get(name)
        if offer is None and (returning := self._participants.returning_person(name, token)):
            person = await self._service.person(returning)
            offer = OpenStudy(self._service.studies.get(person.hash)) if person else None
        return offer

    async def _is_erased(self, claim: IdentityClaim) -> bool:
        return bool(claim.returns) and await self._service.person(claim.returns) is None

    async def start(self, request: Request) -> Response:
        """Start a session or continue the existing one, and redirect to `/`, an address without ids. In a browser that
        keeps no cookies none starts, except in a frame, whose page has a token: `/` could not find it."""
        offer = await self._offer(request)
        if offer is None:
            return not_found_page(request)
        study = offer.study
        let_frame(request, study)
        framed = is_framed(request, study)
        form = _form(await request.body())
        who, language = await self._links.claim(request.query_params, study), negotiate_request(request, study.file)
        found = await self._returning.found(request, study, who, framed=framed, token=form["session"] if framed else "")
        found, part = await self._waves.arrive(found, who)
        session = found.live or ((part.last if part else found.ended) if form["last"] else None)
        if session is None and part is None and await self._is_erased(who):
            return notice_page(study, "withdrawn", language)
        if session is None and part is None and refusal(who, study.file.recruitment) is not None:
            return self._not_taken(request, study, who, language)
        if found.once:
            return notice_page(study, "already_taken_part", language)
        if not framed and self._tickets.with_cookie(form["ticket"]) and not self._cookies.kept_by(request):
            log.info("%s: could not start a session: the browser keeps no cookies", study.name)
            return notice_page(study, "cookies_needed", offered(form["language"], study.file) or language)
        if session is not None and who.person is not None and found.anew:
            await self._comes_again(session, who.person)
        if session is not None:
            return self._inside(request, session, who)
        form["language"] = offered(form["language"], study.file) or language
        return await self._start_new(request, offer, who, found, part, form)

    async def _start_new(
        self,
        request: Request,
        open_study: OpenStudy,
        claim: IdentityClaim,
        result: ReturnResult,
        part: NextPart | None,
        form: Mapping[str, str],
    ) -> Response:
        stream = self._tickets.session(form["ticket"], open_study.study.name)
        if not stream:
            return RedirectResponse(
                f"{request.url.path}?{request.url.query}".rstrip("?"), status_code=303
            )  # to the start page, with a ticket
        if part is not None:
            return await self._begin_wave(request, part, claim, stream, form)
        stream = claim.rehearsed.stream if claim.rehearsed else stream
        return await self._begin(request, open_study, claim, stream, result, form)

    async def failure_page(self, request: Request) -> Response:
        """The page for a start that cannot be taken as it was sent."""
        offer = await self._open_studies.get(request.url.path.removeprefix("/s/"))
        if offer is None:
            return not_found_page(request)
        let_frame(request, offer.study)
        return notice_page(offer.study, "unavailable", negotiate_request(request, offer.study.file), status=403)

    async def _begin(
        self,
        request: Request,
        open_study: OpenStudy,
        claim: IdentityClaim,
        stream: str,
        result: ReturnResult,
        form: Mapping[str, str],
    ) -> Response:
        """Start a session within the address's rate limit, which spares rehearsals; refunded if none starts."""
        address, begun = _address(request), claim.rehearsed is not None
        if claim.rehearsed is None and not self._new.allow(address, time.monotonic()):
            self._many_new.warn()
            response = notice_page(open_study.study, "too_many_starts", form["language"])
            response.headers["retry-after"] = "600"
            return response
        try:
            session, new = await self._enrol(open_study, claim, stream, result, form)
            begun = begun or new
            if new and claim.unreadable is not None:
                await self._count(request, open_study.study, claim, claim.unreadable.reason, started=True)
        except Refused:
            return notice_page(open_study.study, "closed", form["language"])
        except StudyError as error:
            log.error("cannot start sessions of %s: %s", open_study.study.name, error)
            return notice_page(open_study.study, "unavailable", form["language"])
        finally:
            if not begun:
                self._new.refund(address)
        return self._inside(request, session, claim)

    async def _begin_wave(
        self, request: Request, part: NextPart, claim: IdentityClaim, stream: str, form: Mapping[str, str]
    ) -> Response:
        """Start the session of a later wave, once; whoever was admitted is not refused for any quota."""
        identity = await self._waves.identity(part, claim, stream)
        data = {"language": part.language} if len(part.study.file.offered) > 1 else {}
        try:
            session = await self._service.begin_wave(
                part.person, early=bool(form["early"]), zone=form["zone"], stream=stream, identity=identity, data=data
            )
        except (Conflict, Refused):  # clicked twice or in two tabs; or withdrawn or closed meanwhile
            found, _ = await self._waves.arrive(await self._returning.found(request, part.study, claim), claim)
            if found.live is None:
                return RedirectResponse(f"{request.url.path}?{request.url.query}".rstrip("?"), status_code=303)
            session = found.live
        return self._inside(request, session, claim)

    async def redirect_to_next(self, request: Request) -> Response:
        """Redirect a participant to the page of the next wave, by the link that leads back from any device."""
        stream = self._cookies.read(request)
        session = await self._service.get(stream) if stream else None
        person = await self._service.person(stream=session.stream) if session else None
        return RedirectResponse(self._waves.path(person) if person else "/", status_code=303)

    def _between(self, part: NextPart, *, closed: bool) -> Response:
        """The page that says when the next part opens, or that the study is closed."""
        ticket, values = self._tickets.new(part.study.name), self._waves.values(part, closed=closed)
        page = "closed" if closed else "next_part"
        return _around(part.study, "next_part.html.j2", part.language, ticket=ticket, part=values, framed="", page=page)

    async def calendar(self, request: Request) -> Response:
        offer = await self._offer(request)
        claim = await self._links.claim(request.query_params, offer.study) if offer else IdentityClaim()
        part = None
        if offer is not None and claim.returns:
            _, part = await self._waves.arrive(await self._returning.found(request, offer.study, claim), claim)
        if part is None:
            return not_found_page(request)
        say, title = catalogue(part.language), part.study.translate(part.study.file.title, part.language)
        description = say("Open the next part by this link: {link}", link=self._waves.link(part))
        content = self._waves.calendar(part, f"{title}: {part.heading}", description)
        names = {"content-disposition": f'attachment; filename="{part.study.name}.ics"'}
        return Response(content, media_type="text/calendar", headers=names)

    async def _is_closed(self, study: Study, claim: IdentityClaim) -> bool:
        """Return True if nobody new can start but a preview, a pilot, and a rehearsal within the budget."""
        if claim.trial:
            return False
        why = await self._service.closed(study)
        return why is not None and (claim.rehearsed is None or why == BUDGET)

    def _inside(self, request: Request, session: LoadedSession, claim: IdentityClaim) -> Response:
        if request.headers.get("x-forwarded-proto") == "https" and not self._cookies.secure:
            self._not_secure.warn()
        framed = is_framed(request, session.study)
        page = framed_page(session.study.name, self._cookies.token(session.stream)) if framed else "/"
        response = RedirectResponse(page, status_code=303)
        pilot = bool(claim.returns) and session.state.enrolled["origin"] == Origin.PILOT
        claim = replace(claim, trial="pilot") if pilot else claim
        self._cookies.write(response, session.stream, cookie_of(session.study, claim), framed=framed)
        return response

    async def embedded(self, request: Request) -> bool:
        """Return True if the page has a token in place of the cookie; those that the study allows may frame it."""
        offer = await self._open_studies.get(request.query_params.get(EMBED, ""))
        if offer is None or offer.study.file.embed is None:
            return False
        let_frame(request, offer.study)
        return True

    async def redirect_out(self, request: Request) -> Response:
        """Redirect to the recruiter after the end; the address, made here, may contain the person's ids."""
        stream = self._cookies.read(request)
        session = await self._service.get(stream) if stream else None
        if session is None or not session.state.outcome:
            return RedirectResponse("/", status_code=303)
        person = await asyncio.to_thread(self._participants.reveal, session.stream) or ParticipantId("", "")
        address = redirect_url(end_page(session.study, session.state), person.id, person.submission)
        return RedirectResponse(address, status_code=303) if address else RedirectResponse("/", status_code=303)

    async def root(self, request: Request) -> Response:
        """Redirect to the start page if exactly one study is offered, or say that it needs a link with an id."""
        names = await self._open_studies.names()
        offer = await self._open_studies.get(names[0]) if len(names) == 1 else None
        if offer is None:
            return not_found_page(request) if names else no_studies_page(request)
        query, wanted = request.url.query, offer.study.file.recruitment
        if query or refusal(IdentityClaim(), wanted) is None or self._cookies.read(request, offer.study.name):
            return RedirectResponse(f"/s/{names[0]}?{query}".rstrip("?"), 303)
        language = negotiate_request(request, offer.study.file)
        return _around(offer.study, "link_needed.html.j2", language, recruiters=recruiter_labels(wanted))

    def _not_taken(self, request: Request, study: Study, claim: IdentityClaim, language: str) -> Response:
        """The page does not depend on the id; status 429 after too many invalid proofs from one address."""
        if claim.untold:
            return notice_page(study, "unavailable", language)
        if claim.unaccepted:
            return notice_page(study, "accept_first", language)
        if claim.forged and not self._forged.allow(_address(request), time.monotonic()):
            self._many_forged.warn()
            return notice_page(study, "link_not_accepted", language, status=429)
        return notice_page(study, "link_not_accepted", language)

    async def _count(
        self, request: Request, study: Study, claim: IdentityClaim, why: Refusal, *, started: bool = False
    ) -> None:
        """Count a link whose id was not taken, for researchers; of one address only as many as a class has."""
        if not self._counted.allow(_address(request), time.monotonic()):
            return
        name = claim.unreadable.parameter if claim.unreadable else ""
        done = "a session started without it" if started else "refused (403)"
        self._link_problems[study.name, why].warn(study.name, why, name or "-", done, study.name)
        now_us = self._service.now_us()
        try:
            count = partial(count_link_problem, self._database, study.name, why, name, now_us, started=started)
            await asyncio.to_thread(count)
        except StorageError as error:
            log.error("%s", error)

    async def _comes_again(self, session: LoadedSession, participant: ParticipantId) -> None:
        """Store the participant's new submission id. The log gets a note without the id."""
        if session.state.outcome == "withdrawn":
            return
        await asyncio.to_thread(self._participants.renew, session.stream, participant)
        await self._service.note(session.stream, {"what": RESUBMITTED})

    async def _enrol(
        self, open_study: OpenStudy, claim: IdentityClaim, stream: str, result: ReturnResult, form: Mapping[str, str]
    ) -> tuple[LoadedSession, bool]:
        """The session, and whether it was created just now. Raises StudyError, Conflict or Refused."""
        study = open_study.study
        if not open_study.ready:
            raise StudyError(
                study.name, [ValidationIssue("models", "this server lacks settings that they need; the log names them")]
            )
        data: dict[str, Any] = {"attempt": result.attempt} if result.attempt > 1 else {}
        if len(study.file.offered) > 1:
            data["language"] = form["language"]
        if claim.rehearsed is not None and claim.rehearsed.scripted:
            data["models"] = SCRIPTED
        for again in range(TRIES):
            identity, more = await asyncio.to_thread(self._returning.entry, study.name, claim, result, again)
            try:
                data |= more
                origin = Origin.REHEARSAL if claim.rehearsed else Origin.PILOT if claim.trial else Origin.PERSON
                known: dict[str, Any] = {"identity": identity, "stream": stream, "data": data, "zone": form["zone"]}
                session = await self._service.enrol(study, origin=origin, **known)
                return session, True
            except (Conflict, Refused) as error:
                # The button was clicked twice, or another tab or another person with this id started first.
                first = await self._returning.first(study, claim, stream)
                if first is not None and not (
                    isinstance(error, Refused) and result.attempt > 1 and first.state.outcome
                ):
                    return first, False
                if isinstance(error, Refused) or claim.person is None or claim.proven:
                    raise
        raise Conflict(f"{study.name}: {TRIES} other sessions started with the same id at the same moment; try again")


def _choices(request: Request, study: Study) -> list[dict[str, str]]:
    found = []
    for tag in study.file.offered if len(study.file.offered) > 1 else ():
        link = f"?{request.url.include_query_params(lang=tag).query}"
        say = catalogue(tag)
        found.append({"tag": tag, "name": say.name, "direction": say.direction, "link": link})
    return found


def _address(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def notice_page(study: Study, page: str, language: str, status: int = 0) -> Response:
    return _around(study, "notice.html.j2", language, status or NOTICES[page], page=page)


def _around(study: Study, template: str, language: str, status: int = 200, **more: object) -> Response:
    title, contact = (study.translate(text, language) for text in (study.file.title, study.file.contact))
    return render_page(template, language, status=status, title=title, contact=contact, **more)


def storage_error_page(language: str, note: str) -> Response:
    say = catalogue(language)
    values = {"page": "error", "title": say("Something went wrong"), "note": note, "contact": ""}
    return render_page("notice.html.j2", language, status=503, **values)


def not_found_page(request: Request) -> Response:
    say = from_accept_language(request)
    return render_page("notice.html.j2", say.tag, status=404, page="not_found", contact="", title=say("Page not found"))


def no_studies_page(request: Request) -> Response:
    say = from_accept_language(request)
    return render_page("notice.html.j2", say.tag, page="no_open_studies", contact="", title=say("No open study"))


def render_page(template: str, language: str, *, status: int = 200, **values: object) -> Response:
    say = catalogue(language)
    common = {
        "page": template.removesuffix(".html.j2"),
        **values,
        "language": language,
        "direction": say.direction,
        "t": say,
    }
    return HTMLResponse(_TEMPLATES.get_template(template).render(common), status_code=status)
