"""A participants' server's own work at Prolific: reads submissions, approves by the study's rule, carries out acts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from app.clock import Clock
from app.config.settings import Settings
from app.errors import RecruiterDenied, RecruiterError, RecruiterUnavailable
from app.recruiters.prolific import Prolific, prolific_client
from experiments.errors import NotPossible
from storage.db.engine import Database
from storage.registers.participants import Participants
from storage.registers.studies import Studies

if TYPE_CHECKING:
    from app.use_cases.submissions import RecruitedStudy

# Between two readings of a study's list: while somebody takes part or awaits review, and otherwise.
SOON_S, LATER_S = 60.0, 900.0
log = logging.getLogger(__name__)


def _look_later(seconds: float) -> None:
    """In place of a wait, during which the server could not stop: the next round asks again."""
    raise RecruiterUnavailable("Prolific is busy or cannot be reached", retry_after_s=seconds)


class ProlificTask:
    def __init__(
        self,
        settings: Settings,
        database: Database,
        participants: Participants,
        clock: Clock,
    ) -> None:
        self._settings, self._database, self._participants, self._clock = settings, database, participants, clock
        self._due_us: dict[str, int] = {}

    async def once(self) -> None:
        await asyncio.to_thread(self._all)

    def _all(self) -> None:
        try:
            with prolific_client(self._settings, _look_later) as client:
                for recruited in self._recruited(client):
                    self._one(recruited)
        except RecruiterDenied:
            return  # no token, or none that may do this: `parley doctor` says so

    def _recruited(self, client: Prolific) -> Iterator[RecruitedStudy]:
        from app.use_cases.submissions import recruited_at_prolific  # a server without a token needs none of it

        known = Studies(self._database)
        for study in (known.newest(name) for name in known.names() if known.has(name)):
            given = (self._settings, self._database, client, self._clock, self._participants)
            with suppress(NotPossible):
                yield recruited_at_prolific(*given, study)

    def _one(self, recruited: RecruitedStudy) -> None:
        from app.use_cases.submissions import GOING, RULE, ask, carry_out, free_places, poll, to_approve

        name, now_us = recruited.name, self._clock.now_us()
        if self._due_us.get(name, 0) <= now_us:
            going = False
            try:
                going = any(one.status in GOING for one in poll(recruited))
            except RecruiterError as error:
                log.warning("%s: failed to read Prolific's submissions: %s", name, error)
                free_places(recruited)
            self._due_us[name] = now_us + round((SOON_S if going else LATER_S) * 1e6)
            if recruited.is_automatic and (ready := to_approve(recruited)):
                ask(recruited, "approve", ready, RULE)
        carry_out(recruited)
