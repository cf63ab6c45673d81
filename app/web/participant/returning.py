"""Finds the session of a returning participant, and the identity under which a new session is stored.

A session is found by a proven id (recruiter_links.py) from any device, or by this browser's cookie for the study, as
long as the link has no other id than the one under which the session started. An id without proof finds none.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from starlette.requests import Request

from app.session.service import SessionService
from app.session.transitions import LoadedSession
from app.web.participant.recruiter_links import IdentityClaim
from app.web.participant.session_cookie import SessionCookie
from experiments.study.study import Study
from experiments.views.quality_flags import SAME_ID, UNREADABLE_ID
from storage.registers.origins import Origin
from storage.registers.participants import MOST_GAP, ParticipantId, Participants, ReturningParticipant


@dataclass(frozen=True, slots=True)
class ReturnResult:
    """The session found for a request: the one to continue (`live`), and True if the request has another submission id
    (`anew`). Without a session to continue: the number of the next attempt, or that the study can be taken only `once`.
    `before` is the existing session, ended or not; `ended` is one after which another can start in this browser."""

    live: LoadedSession | None
    attempt: int = 1
    once: bool = False
    anew: bool = False
    before: LoadedSession | None = None
    ended: LoadedSession | None = None


def cookie_of(study: Study, claim: IdentityClaim) -> str:
    """The name of a cookie; previews, pilots and rehearsals have their own, so that the browser can take part too."""
    apart = Origin.REHEARSAL if claim.rehearsed else claim.trial
    return f"{study.name}.{apart}" if apart else study.name


class Returning:
    """Finds sessions. With `again`, a browser whose session has ended can start another."""

    def __init__(
        self, service: SessionService, participants: Participants, cookies: SessionCookie, *, again: bool
    ) -> None:
        self._service = service
        self._participants = participants
        self._cookies = cookies
        self._again = again

    async def found(
        self, request: Request, study: Study, claim: IdentityClaim, *, framed: bool = False, token: str = ""
    ) -> ReturnResult:
        """The session of the proven person, or else of the browser; of a rehearsed participant, the one of the link. A
        preview continues none. In a frame, which may have no cookies, the `token` of its tab is as good as one."""
        if claim.rehearsed or claim.trial == "preview":
            return ReturnResult(await self._session(claim.rehearsed.stream if claim.rehearsed else None, study))
        if claim.returns and (person := await self._service.person(claim.returns)) is not None:
            return ReturnResult(await self._session(next(iter(person.streams.values())), study))
        own = await self._own(token, study, claim) if token else None
        own = own or await self._session(self._cookies.read(request, cookie_of(study, claim), framed=framed), study)
        if claim.person is None:
            return ReturnResult(None, ended=own) if own and self._again and own.screen.ended else ReturnResult(own)
        prior = await self._prior_session(study, claim, claim.person, own)
        if prior is None:
            return ReturnResult(None)
        if prior.unlinked:
            return ReturnResult(None, prior.attempt, once=study.file.recruitment.repeat_participation != "new_session")
        session = own if own is not None and own.stream == prior.stream else await self._session(prior.stream, study)
        if session is None or (self._again and session.screen.ended):
            return ReturnResult(None, prior.attempt, before=session, ended=session)
        if prior.same or study.file.recruitment.repeat_participation == "resume" or not session.state.outcome:
            return ReturnResult(session, anew=not prior.same, before=session)
        return ReturnResult(
            None, prior.attempt, once=study.file.recruitment.repeat_participation == "refuse", before=session
        )

    async def _prior_session(
        self, study: Study, claim: IdentityClaim, participant: ParticipantId, own_session: LoadedSession | None
    ) -> ReturningParticipant | None:
        """The session under a proven id, or else the browser's `own_session` if it began under this id."""
        prior = await asyncio.to_thread(self._participants.known, study.name, participant) if claim.proven else None
        if prior is None and own_session is not None:
            its = own_session.stream, own_session.state.enrolled.get("attempt", 1)
            prior = await asyncio.to_thread(self._participants.returning, study.name, participant, *its)
        return prior

    async def first(self, study: Study, claim: IdentityClaim, stream: str) -> LoadedSession | None:
        """The existing session that kept a new one from starting: the person's, or the one with this stream."""
        if claim.person is not None and claim.proven:
            prior = await asyncio.to_thread(self._participants.known, study.name, claim.person)
            stream = prior.stream if prior else stream
        return await self._service.get(stream) if stream else None

    def entry(
        self, study: str, claim: IdentityClaim, result: ReturnResult, again: int
    ) -> tuple[Mapping[str, Any] | None, Mapping[str, Any]]:
        """The identity to store, and data of `enrolled`: the kind of proof, whether other sessions started under the id
        (in a further attempt as the session before says), and an id that was not taken. `again` counts insertions that
        failed because another session took the number."""
        unreadable = {UNREADABLE_ID: asdict(claim.unreadable)} if claim.unreadable else {}
        if claim.person is None:
            return None, unreadable
        last = self._participants.unproven(study, claim.person)
        number = result.attempt if claim.proven else last + 1 + (secrets.randbelow(MOST_GAP) if again else 0)
        if result.before is not None:
            others = SAME_ID in result.before.state.enrolled
        else:
            others = bool(last) or self._participants.known(study, claim.person) is not None
        identity = self._participants.entry(study, claim.person, number, proven=claim.proven)
        return identity, {"proof": claim.proof, **({SAME_ID: True} if others else {}), **unreadable}

    async def _own(self, token: str, study: Study, claim: IdentityClaim) -> LoadedSession | None:
        """The session of a frame's token; None if it is a pilot's and the link is none, or the other way round."""
        own = await self._session(self._cookies.session(token, framed=True), study)
        pilot = own is not None and own.state.enrolled.get("origin") == Origin.PILOT
        return own if pilot == (claim.trial is not None) else None

    async def _session(self, stream: str | None, study: Study) -> LoadedSession | None:
        session = await self._service.reload(stream) if stream else None
        return session if session is not None and session.study.name == study.name else None
