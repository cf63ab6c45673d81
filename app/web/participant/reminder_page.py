"""The page of a participant's reminders: it takes a mail address for them, and ends them by one click.

Its link has the token of the return link, so that it works from a mail, in any browser. Opening it changes nothing, or
scanners of links would unsubscribe people; mail programs end reminders by a POST of their own (RFC 8058).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from app.session.service import SessionService
from app.session.signed_links import RETURN_PARAMETER
from app.web.participant.start_page import not_found_page, render_page
from app.web.participant.wave_pages import is_closed_for
from experiments.events import Action
from experiments.session.reminders import SUBSCRIBED, UNSUBSCRIBED, wants_none
from experiments.session.waves import next_window, wave_schedule
from experiments.study.sections.reminders import Channel
from storage.registers.contacts import MAIL, PROLIFIC, Contacts
from storage.registers.participants import Participants
from storage.registers.persons import Person

# RFC 5321, 4.5.3.1.3
MOST_CHARS = 254
_ADDRESS = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}@([A-Za-z0-9-]{1,63}\.)+[A-Za-z0-9-]{2,63}", re.ASCII)


class ReminderPage:
    """`channels` are those by which this server sends."""

    def __init__(
        self,
        service: SessionService,
        participants: Participants,
        contacts: Contacts,
        channels: Collection[Channel],
    ) -> None:
        self._service, self._participants, self._contacts = service, participants, contacts
        self._channels = channels

    def routes(self) -> list[Route]:
        path = "/s/{study}/reminders"
        return [
            Route(path, self.show, methods=["GET", "HEAD"]),
            Route(path, self.change, methods=["POST"]),
        ]

    async def show(self, request: Request, *, fault: bool = False) -> Response:
        found = await self._person(request)
        if isinstance(found, Response):
            return found
        session = await self._service.reload(found.first)
        if session is None or session.study.file.reminders is None:
            return not_found_page(request)
        say, reached = session.study.translate, await asyncio.to_thread(self._reached, found)
        window = next_window(wave_schedule(session.study, found.history, self._service.now_us()))
        closed = await asyncio.to_thread(is_closed_for, self._contacts.database, found)
        return render_page(
            "reminders.html.j2",
            session.language,
            status=422 if fault else 200,
            title=say(session.study.file.title, session.language),
            contact=say(session.study.file.contact, session.language),
            reminded=any(reached.values()) and not wants_none(session.state.events),
            ended=wants_none(session.state.events),
            asks=_asks(reached),
            mailed=reached.get(MAIL, False),
            over=window is None or closed,
            back=f"../{found.study}?{request.url.query}",
            fault=fault,
        )

    async def change(self, request: Request) -> Response:
        form = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
        address = form.get("address", [""])[0].strip()
        if "address" in form and not (len(address) <= MOST_CHARS and _ADDRESS.fullmatch(address)):
            return await self.show(request, fault=True)
        found = await self._person(request)
        if isinstance(found, Response):
            return found
        if address and not _asks(await asyncio.to_thread(self._reached, found)):
            return not_found_page(request)
        if address:
            await asyncio.to_thread(self._contacts.save_address, found.study, found.id, address)
        else:
            await asyncio.to_thread(self._contacts.forget_address, found.id)
        kind, data = (SUBSCRIBED, {"channel": MAIL}) if address else (UNSUBSCRIBED, {})
        await self._service.act(found.first, Action(kind, "", data, self._service.now_us(), by="system"))
        return RedirectResponse(f"{request.url.path}?{request.url.query}", status_code=303)

    def _reached(self, person: Person) -> dict[Channel, bool]:
        """The channels of the person's study by which this server sends, and whether they reach the person."""
        reminders = self._service.studies.get(person.hash).file.reminders
        channels = [name for name in reminders.channels if name in self._channels] if reminders else []
        return {name: self._contacts.reach(person, name) is not None for name in channels}

    async def _person(self, request: Request) -> Person | Response:
        """The person of the link, or the page for one that is not valid, or of somebody who has withdrawn."""
        study, token = request.path_params["study"], request.query_params.get(RETURN_PARAMETER, "")
        id_ = self._participants.returning_person(study, token)
        found = await self._service.person(id_) if id_ else None
        if id_ and found is None:
            return RedirectResponse(f"../{study}?{request.url.query}", status_code=303)
        return found or not_found_page(request)


def _asks(reached: Mapping[Channel, bool]) -> bool:
    """Return True if the page asks for an address: not if a channel before mail reaches the person. Prolific does not
    allow to ask its participants for one."""
    first = next((name for name, reaches in reached.items() if reaches or name == MAIL), None)
    return first == MAIL and not reached.get(PROLIFIC)
