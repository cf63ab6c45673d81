"""What a participants' server does with Prolific by itself: it reads the lists of submissions, approves by the study's
rule, and carries out what was asked for. Of all servers over one database the one with the claim does it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal

from app.clock import Clock
from app.config.settings import Settings
from app.errors import RecruiterDenied, RecruiterError, RecruiterUnavailable
from app.recruiters.prolific import Prolific
from app.use_cases.prolific_study import prolific_client
from app.use_cases.submissions import (
    AWAITING,
    FITS,
    RULE,
    RecruitedStudy,
    ask,
    carry_out,
    free_places,
    poll,
    to_approve,
)
from experiments.errors import NotPossible
from experiments.session.recruiting import recruited_studies
from experiments.study.study import Study
from problems.errors import ParleyError
from storage.db.advisory_locks import AdvisoryLocks
from storage.db.engine import Database
from storage.registers.participants import Participants
from storage.registers.recruiting import recruiter_acts
from storage.registers.studies import Studies

CLAIM = "prolific"
EVERY_S = 15.0
# Between two readings of a study's list: while somebody takes part or awaits review, when all is over, after errors.
SOON_S, LATER_S, LATEST_S = 60.0, 900.0, 3_600.0
log = logging.getLogger(__name__)


def recruited_at_prolific(
    settings: Settings, database: Database, client: Prolific, clock: Clock, participants: Participants, study: Study
) -> RecruitedStudy:
    """A study with its studies at Prolific. Raises NotPossible if it is not recruited by the API."""
    section, ids = study.file.prolific, recruited_studies(recruiter_acts(database, study.name))
    if section is None or not ids:
        raise NotPossible(f"{study.name} is not at Prolific: parley recruit prolific {study.name} draft")
    most: Decimal = min(section.spend_limit, settings.prolific_spend_limit or section.spend_limit)
    return RecruitedStudy(database, participants, client, clock, study, ids, most)


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
        locks: AdvisoryLocks | None = None,
    ) -> None:
        self._settings, self._database, self._participants = settings, database, participants
        self._clock, self._locks, self._leads = clock, locks, locks is None
        self._due_us: dict[str, int] = {}
        self._pause_s: dict[str, float] = {}

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await self.once()
            except (ParleyError, OSError) as error:
                log.error("failed to look after submissions at Prolific: %s", error)

    async def once(self) -> None:
        if not self._leads and self._locks is not None:
            self._leads = await asyncio.wrap_future(self._locks.acquire(CLAIM))
        if self._leads:
            await asyncio.to_thread(self._all)

    def _all(self) -> None:
        try:
            with prolific_client(self._settings, _look_later) as client:
                for recruited in self._recruited(client):
                    self._one(recruited)
        except RecruiterDenied:
            return  # no token, or none that may do this: `parley doctor` says so

    def _recruited(self, client: Prolific) -> Iterator[RecruitedStudy]:
        known = Studies(self._database)
        for study in (known.newest(name) for name in known.names() if known.has(name)):
            given = (self._settings, self._database, client, self._clock, self._participants)
            with suppress(NotPossible):
                yield recruited_at_prolific(*given, study)

    def _one(self, recruited: RecruitedStudy) -> None:
        name, now_us = recruited.name, self._clock.now_us()
        if self._due_us.get(name, 0) <= now_us:
            try:
                going = any(one.status in (AWAITING, *FITS["complete"]) for one in poll(recruited))
                self._pause_s[name] = SOON_S if going else LATER_S
            except RecruiterError as error:
                log.warning("%s: Prolific's submissions cannot be read: %s", name, error)
                self._pause_s[name] = min(2 * self._pause_s.get(name, SOON_S), LATEST_S)
                free_places(recruited)
            self._due_us[name] = now_us + round(self._pause_s[name] * 1e6)
            if recruited.is_automatic and (ready := to_approve(recruited)):
                ask(recruited, "approve", ready, RULE)
        carry_out(recruited)
