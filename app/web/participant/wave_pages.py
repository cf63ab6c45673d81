"""Pages of a link in a study with waves: the session under way, the open part, when the next one opens, or the end."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from app.session.service import SessionService
from app.session.signed_links import RETURN_PARAMETER
from app.session.transitions import LoadedSession
from app.web.participant.calendar_file import calendar_file
from app.web.participant.recruiter_links import IdentityClaim
from app.web.participant.returning import ReturnResult
from experiments.session.engine import end_page
from experiments.session.waves import WaveWindow, next_window, wave_schedule
from experiments.study.sections.reminders import Channel
from experiments.study.sections.waves import local_time, zone_of
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.origins import Origin
from storage.registers.participants import Participants
from storage.registers.persons import Person
from storage.registers.study_status import operations_of


@dataclass(frozen=True, slots=True)
class NextPart:
    """The wave that is open for a person, or the next one to come."""

    person: Person
    last: LoadedSession
    """The session of the part before it."""
    window: WaveWindow

    @property
    def study(self) -> Study:
        return self.last.study

    @property
    def language(self) -> str:
        return self.last.language

    @property
    def upcoming(self) -> bool:
        return self.window.state == "upcoming"

    @property
    def heading(self) -> str:
        wave = next(wave for wave in self.study.waves if wave.id == self.window.wave)
        return self.study.translate(wave.wave, self.language)


def return_path(participants: Participants, person: Person, below: str = "") -> str:
    """The path by which a person comes back to a study from any device, or of a page `below` it."""
    query = urlencode({RETURN_PARAMETER: participants.return_token(person.study, person.id)})
    return f"/s/{person.study}{below}?{query}"


def is_closed_for(database: Database, person: Person) -> bool:
    """Return True if the study is closed also for those who take part already."""
    return person.origin == Origin.PERSON and operations_of(database, person.study).closed is not None


class WavePages:
    def __init__(
        self,
        service: SessionService,
        database: Database,
        participants: Participants,
        address: str,
        reminds_by: Collection[Channel] = (),
    ) -> None:
        self._service, self._database, self._participants = service, database, participants
        self._address, self._reminds_by = address, reminds_by

    async def arrive(self, found: ReturnResult, claim: IdentityClaim) -> tuple[ReturnResult, NextPart | None]:
        """The result with the session of the present or last wave; or the part that can be started now or later."""
        session = found.live or found.ended or found.before
        person = await self._service.person(stream=session.stream) if session and session.study.waves else None
        if session is None or person is None:
            return found, None
        window = next_window(wave_schedule(session.study, person.history, self._service.now_us()))
        streams = list(person.streams.values())
        last = await self._service.reload(streams[-1])
        if window is not None and window.state != "live":
            return ReturnResult(None), NextPart(person, last or session, window)
        if len(streams) == 1 or last is None:
            return found, None
        if window is not None:
            return ReturnResult(last, anew=await self._is_anew(last, claim), before=last), None
        return replace(found, live=found.live and last, ended=found.ended and last), None

    async def is_closed(self, part: NextPart) -> bool:
        return await asyncio.to_thread(is_closed_for, self._database, part.person)

    async def identity(self, part: NextPart, claim: IdentityClaim, stream: str) -> Mapping[str, Any] | None:
        """The identity to store for the session of a later wave: that of the first, with this link's submission."""
        first = await asyncio.to_thread(self._participants.reveal, next(iter(part.person.streams.values())))
        if first is None:
            return None
        same = claim.person is not None and (claim.person.recruiter, claim.person.id) == (first.recruiter, first.id)
        return self._participants.entry_of_wave(claim.person if same and claim.person else first, stream)

    def values(self, part: NextPart, *, closed: bool = False) -> Mapping[str, Any]:
        window, zone = part.window, zone_of(part.person.history.zone)
        until_us = window.until_us if window.state == "late" else window.closes_us
        wait_us = (window.opens_us or 0) - self._service.now_us()
        reminders = part.study.file.reminders
        reminded = not closed and reminders is not None and not set(reminders.channels).isdisjoint(self._reminds_by)
        return {
            "heading": part.heading,
            "closed": closed,
            "done": part.last.state.outcome == "complete",
            "upcoming": part.upcoming and not closed,
            "times": [local_time(at_us, zone) if at_us else None for at_us in (window.opens_us, until_us)],
            "zone": zone.key,
            "wait_ms": max(0, wait_us) // 1000 + 1,
            "code": end_page(part.study, part.last.state).code,
            "help": part.study.file.help is not None,
            "link": self.link(part),
            "calendar": self.path(part.person, "/calendar.ics").removeprefix("/s/"),
            "reminders": self.path(part.person, "/reminders").removeprefix("/s/") if reminded else "",
            "pilot": part.person.origin == Origin.PILOT,
        }

    def calendar(self, part: NextPart, summary: str, description: str) -> bytes:
        window = part.window
        return calendar_file(
            f"{part.person.id}-{window.wave}-{window.round}@parley",
            now_us=self._service.now_us(),
            opens_us=window.opens_us or self._service.now_us(),
            summary=summary,
            description=description,
            url=self.link(part),
        )

    def link(self, part: NextPart) -> str:
        return f"{self._address}{self.path(part.person)}"

    def path(self, person: Person, below: str = "") -> str:
        return return_path(self._participants, person, below)

    async def _is_anew(self, session: LoadedSession, claim: IdentityClaim) -> bool:
        stored = await asyncio.to_thread(self._participants.reveal, session.stream)
        submission = claim.person.submission if claim.person else ""
        return bool(submission) and stored is not None and stored.submission != submission
