"""The studies that a server offers, each in the version published last.

They are read from the database when a participant arrives, at most every two seconds; requests of sessions in progress
do not read them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.errors import BackendError, SettingsError
from app.extension import missing_extensions
from app.session.service import SessionService
from app.single_flight import SingleFlight
from experiments.errors import StudyError
from experiments.session.study_status import StudyStatus
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.study_versions import status_of_all

FRESH_US = 2_000_000
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenStudy:
    """A study that is offered; `ready` is false if this server lacks settings that its models need."""

    study: Study
    ready: bool = True


class OpenStudies:
    """The studies that are offered: those given, and all that are published in the database and not drafts."""

    def __init__(self, service: SessionService, database: Database, studies: Sequence[Study] = ()) -> None:
        self._service = service
        self._database = database
        self._given = {study.name for study in studies}
        self._offers: Mapping[str, OpenStudy] = {study.name: OpenStudy(study) for study in studies}
        self._looked_us: int | None = None
        self._looking: SingleFlight[Mapping[str, OpenStudy]] = SingleFlight()

    async def get(self, name: str) -> OpenStudy | None:
        return (await self._now()).get(name)

    async def names(self) -> list[str]:
        return list(await self._now())

    async def _now(self) -> Mapping[str, OpenStudy]:
        now_us = self._service.now_us()
        if self._looked_us is not None and self._looked_us <= now_us < self._looked_us + FRESH_US:
            return self._offers
        return await self._looking.get(self._anew)

    async def _anew(self) -> Mapping[str, OpenStudy]:
        now_us = self._service.now_us()
        self._offers = await asyncio.to_thread(self._load_offers)
        self._looked_us = now_us
        return self._offers

    def _load_offers(self) -> Mapping[str, OpenStudy]:
        held = {**status_of_all(self._database, self._given), **status_of_all(self._database)}
        found = {name: self._offer(name, now) for name, now in held.items() if name in self._given or now.offered}
        return {name: offer for name, offer in found.items() if offer is not None}

    def _offer(self, name: str, status: StudyStatus) -> OpenStudy | None:
        """The study in its current version; None if it cannot be read here, which leaves the other studies open."""
        cached = self._offers.get(name)
        if cached is not None and status.published in (None, cached.study.hash):
            return cached
        try:
            study = self._service.studies.get(status.published or "")
        except StudyError as error:
            log.error("not offering %s: %s", name, error)
            return None
        for key, owner in missing_extensions(study).items():
            log.warning("%s has the key `%s`, and Parley's extension %r is not installed", name, key, owner)
        try:
            self._service.prepare(study)
        except (SettingsError, BackendError) as error:
            log.error("cannot start sessions of %s, version %d: %s", name, study.file.version, error)
            return OpenStudy(study, ready=False)
        log.info("%s is offered in version %d (%s)", name, study.file.version, study.hash[:12])
        return OpenStudy(study)
