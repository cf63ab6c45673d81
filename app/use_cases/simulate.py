"""Simulate: participants of chance, or of a model, go through a study; their sessions are of the origin `bot`."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field

from app.annotation.judge import judge_question
from app.backends.registry import asks_servers
from app.bots.run_many import SimulationRun, StoppedSession, clock_for_each, run_simulations, settings_for
from app.bots.simulate import SimulatedSession
from app.bots.user_config import read_user_config
from app.clock import SystemClock
from app.config.settings import Settings
from app.session.service import SessionService
from app.use_cases.tables import Stopped, Tell, Told
from experiments.plural import count
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.study_status import record_dataset_info

MOST_TOLD = 5


@dataclass
class SimulationProgress:
    run: SimulationRun
    tell: Tell = lambda *_: None
    stop: Stopped = bool
    complete: int = 0
    sessions: int = 0
    clicks: int = 0
    missing: int = 0
    """People who were not in every wave."""
    stopped: list[StoppedSession] = field(default_factory=list)

    def add(self, session: SimulatedSession | StoppedSession) -> None:
        if isinstance(session, StoppedSession):
            self.stopped.append(session)
        else:
            self.complete += 1
            self.sessions += len(session.streams)
            self.clicks += session.clicks
            self.missing += len(session.streams) < len(self.run.study.waves)
        stopped = f"{len(self.stopped):,} stopped" if self.stopped else ""
        self.tell(self.complete + len(self.stopped), self.run.count, stopped)

    @property
    def told(self) -> Told:
        missing = f", {self.missing:,} of them not in every wave" if self.missing else ""
        people = f"{self.complete:,} of {self.run.count:,} people{missing}; " if len(self.run.study.waves) > 1 else ""
        says = [f"{people}{count(self.sessions, 'complete session')} ({count(self.clicks, 'click')})."]
        more = len(self.stopped) - MOST_TOLD
        says += [f"{count(len(self.stopped), 'session')} stopped; the same run continues them."] if self.stopped else []
        says += [f"{one.stream}: {one.why}" for one in self.stopped[:MOST_TOLD]]
        return Told([*says, f"And {more:,} more; `parley show calls` shows the calls."] if more > 0 else says)


def calls_servers(study: Study) -> bool:
    return any(asks_servers(model.backend) for model in study.file.models.values())


def free_run(study: Study, number: int, seed: str) -> SimulationRun:
    """A run that calls no server, as `parley simulate -n NUMBER --seed SEED` plays it."""
    return SimulationRun(study, read_user_config("random", scripted=calls_servers(study)), number, seed, at_once=1)


async def simulate(database: Database, settings: Settings, progress: SimulationProgress) -> Told:
    """Play the sessions of a run that have not ended yet. Raises the ParleyError that ails them all."""
    run = progress.run
    clocks = clock_for_each(run.study, run.cast)
    service = SessionService(database, settings_for(settings), clocks, judge_question)
    try:
        service.studies.register(run.study)
        now_us = SystemClock().now_us()
        record_dataset_info(database, run.study.name, run.study.file.dataset, by="system", at_us=now_us, once=True)
        for model in run.cast.called(run.study):
            service.check_configured(model)
        async with aclosing(run_simulations(service, clocks, run)) as sessions:
            async for session in sessions:
                progress.add(session)
                if progress.stop():
                    break
    finally:
        await service.close()
    return progress.told
