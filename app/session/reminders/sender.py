"""Sends reminders: each is written into the log before it goes out, and its result after.

A process that dies in between has sent at most one reminder of which nobody knows; that one is not sent again. A mail
server that cannot be reached, or refuses the login, is noticed before anything is written, so nothing is used up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from app.clock import Clock
from app.errors import NotDelivered
from app.session.reminders.channels import ReminderChannel, SilentChannel
from app.session.reminders.message import RemindedPerson, ReminderMessage
from app.session.service import Sessions
from experiments.events import Action
from experiments.session.reminders import FAILED, REMINDED, SENT, NextReminder, next_reminder
from experiments.study.sections.reminders import Channel
from storage.db.engine import Database
from storage.registers.origins import Origin
from storage.registers.persons import Person, person
from storage.registers.reminders import due_reminders, reminded_studies

log = logging.getLogger(__name__)
# The address or id of a person at a channel, empty where none is needed; None where a person cannot be reached.
Reach = Callable[[Person, Channel], str | None]
# The link by which a person goes on, and that of the page that ends reminders.
Links = Callable[[Person], tuple[str, str]]


class Reminding:
    """Sends the reminders that are due to one person at a time."""

    def __init__(
        self, sessions: Sessions, channels: Mapping[Channel, ReminderChannel], reach: Reach, links: Links
    ) -> None:
        self.channels = channels
        self._sessions, self._reach, self._links = sessions, reach, links

    async def remind(self, person: Person, now_us: int) -> NextReminder | None:
        """Returns it, or the one that comes next. Raises NotDelivered if its channel cannot be used by anybody."""
        study = self._sessions.studies.get(person.hash)
        ways = {name: await asyncio.to_thread(self._reach, person, name) for name in self.channels}
        reachable = [name for name, to in ways.items() if to is not None]
        events = await asyncio.to_thread(self._sessions.log.load, person.first)
        found = next_reminder(study, person.history, events, reachable, now_us)
        if found is None or found.at_us > now_us:
            return found
        channel = self.channels[found.channel]
        await asyncio.to_thread(channel.open)
        action = Action(REMINDED, "", found.data, now_us, by="system", key=found.key)
        session = await self._sessions.act_once(person.first, action)
        if session is None:
            return None
        about = person.id, person.history.zone, session.language, ways[found.channel] or "", *self._links(person)
        failure = await asyncio.to_thread(channel.send, ReminderMessage(study, found, RemindedPerson(*about)))
        data: dict[str, object] = {"of": session.state.seq}
        if failure is not None:
            data |= {"cause": failure.cause, "certain": failure.certain, "again": failure.again}
        at_us = max(now_us, self._sessions.now_us())
        await self._sessions.act(person.first, Action(FAILED if failure else SENT, "", data, at_us, by="system"))
        if failure is not None and failure.down:
            raise NotDelivered(f"{found.channel}: {failure.cause}")
        return found


async def remind_simulated(sessions: Sessions, person: Person, from_us: int, until_us: int) -> None:
    """Record the reminders that a simulated person would get between two times; nothing is sent."""
    reminders = sessions.studies.get(person.hash).file.reminders
    channels = {name: SilentChannel() for name in reminders.channels} if reminders else {}
    reminding = Reminding(sessions, channels, lambda _, __: "", lambda _: ("", ""))
    while (found := await reminding.remind(person, from_us)) is not None and found.at_us < until_us:
        from_us = found.at_us


class ReminderTask:
    """The task of a participants' server that sends due reminders, at most `per_minute`."""

    def __init__(self, reminding: Reminding, database: Database, clock: Clock, per_minute: int) -> None:
        self.channels = reminding.channels
        self._reminding, self._database, self._clock = reminding, database, clock
        self._pause_s = 60 / per_minute

    async def once(self) -> int:
        """Send the reminders due now; returns how many were tried."""
        tried, down = 0, set[Channel]()
        for one, reminder in await asyncio.to_thread(self._due):
            fresh = await asyncio.to_thread(person, self._database, one.id)  # others took time to be sent
            if fresh is None or reminder.channel in down:
                continue
            try:
                await self._reminding.remind(fresh, self._clock.now_us())
            except NotDelivered as error:
                down.add(reminder.channel)
                log.error("failed to send reminders: %s", error)
            tried += 1
            await self._clock.sleep(self._pause_s)
        for channel in self.channels.values():
            await asyncio.to_thread(channel.close)
        return tried

    def _due(self) -> list[tuple[Person, NextReminder]]:
        now_us, studies = self._clock.now_us(), reminded_studies(self._database) if self.channels else ()
        of = ((study, origin) for study in studies for origin in (Origin.PERSON, Origin.PILOT))
        return [
            one for study, origin in of for one in due_reminders(self._database, study, origin, now_us, self.channels)
        ]
