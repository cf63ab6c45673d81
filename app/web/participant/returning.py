"""Whether somebody who comes has a session already, and as whom a new one is entered.

Two things lead to a session: a proof of an id (links.py), from any device, and this browser's own cookie for the study,
as long as the link names no other id than that under which the session began. An id alone leads nowhere.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from app.session.service import SessionService
from app.session.transitions import LoadedSession
from app.web.participant.recruiter_links import IdentityClaim
from app.web.participant.session_cookie import SessionCookie
from experiments.study.resolve import Study
from experiments.views.quality_flags import SAME_ID
from storage.registers.participants import MOST_GAP, Participants


@dataclass(frozen=True, slots=True)
class ReturnResult:
    """What is known of who comes: their session, and whether they come to it `anew`, with another submission; or which
    attempt it would be, or that they may come only `once`. `before` is the session that they have or had."""

    live: LoadedSession | None
    attempt: int = 1
    once: bool = False
    anew: bool = False
    before: LoadedSession | None = None


class Returning:
    """Finds sessions; with `again`, who has finished may begin anew."""

    def __init__(
        self, runtime: SessionService, participants: Participants, cookies: SessionCookie, *, again: bool
    ) -> None:
        self._runtime = runtime
        self._participants = participants
        self._cookies = cookies
        self._again = again

    async def found(self, request: Request, study: Study, who: IdentityClaim) -> ReturnResult:
        """The session that a proven person has, or else the browser."""
        own = await self._session(self._cookies.read(request, study.name), study)
        person, known = who.person, None
        if person is None:
            return ReturnResult(None if own and self._again and own.screen.ended else own)
        if who.proven:
            known = await asyncio.to_thread(self._participants.known, study.name, person)
        if known is None and own is not None:
            its = own.stream, own.state.enrolled.get("attempt", 1)
            known = await asyncio.to_thread(self._participants.returning, study.name, person, *its)
        if known is None:
            return ReturnResult(None)
        live = own if own is not None and own.stream == known.stream else await self._session(known.stream, study)
        if live is None or (self._again and live.screen.ended):
            return ReturnResult(None, known.attempt, before=live)
        if known.same or study.file.recruitment.repeat_participation == "resume" or not live.state.outcome:
            return ReturnResult(live, anew=not known.same, before=live)
        return ReturnResult(
            None, known.attempt, once=study.file.recruitment.repeat_participation == "refuse", before=live
        )

    async def first(self, study: Study, who: IdentityClaim, stream: str) -> LoadedSession | None:
        """The session that was there first, where one could not begin: the person's, or the one of this name."""
        if who.person is not None and who.proven:
            known = await asyncio.to_thread(self._participants.known, study.name, who.person)
            stream = known.stream if known else stream
        return await self._runtime.get(stream) if stream else None

    def entry(
        self, study: str, who: IdentityClaim, found: ReturnResult, again: int
    ) -> tuple[Mapping[str, Any] | None, Mapping[str, Any]]:
        """What is stored of who begins, and what the fact `enrolled` says: by which proof they came, and whether others
        had begun under their id. Who goes on from a session of their own is as they were there. `again` is how often
        somebody else took the number first."""
        if who.person is None:
            return None, {}
        last = self._participants.unproven(study, who.person)
        number = found.attempt if who.proven else last + 1 + (secrets.randbelow(MOST_GAP) if again else 0)
        if found.before is not None:
            others = SAME_ID in found.before.state.enrolled
        else:
            others = bool(last) or self._participants.known(study, who.person) is not None
        identity = self._participants.entry(study, who.person, number, proven=who.proven)
        return identity, {"proof": who.proof, **({SAME_ID: True} if others else {})}

    async def _session(self, stream: str | None, study: Study) -> LoadedSession | None:
        live = await self._runtime.reload(stream) if stream else None
        return live if live is not None and live.study.name == study.name else None
