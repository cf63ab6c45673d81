"""Simulate: participants of chance, or of a model, go through a study; their sessions are of the origin `bot`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from app.annotation.judge import judge_question
from app.backends.registry import asks_servers
from app.bots.run_many import SimulationRun, StoppedSession, clock_for_each, run_simulations, settings_for
from app.bots.simulate import SimulatedSession
from app.bots.user_config import read_user_config
from app.clock import SystemClock
from app.config.settings import Settings
from app.errors import ArgumentInvalid
from app.session.service import SessionService
from app.use_cases.tables import Told
from experiments.plural import count
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.study_status import record_dataset_info

MOST_IN_CONSOLE, MOST_TOLD = 500, 5


@dataclass
class SimulationProgress:
    total: int
    waves: int = 1
    complete: int = 0
    sessions: int = 0
    clicks: int = 0
    missing: int = 0
    """People who were not in every wave."""
    stopped: list[StoppedSession] = field(default_factory=list)

    @property
    def done(self) -> int:
        return self.complete + len(self.stopped)

    def add(self, session: SimulatedSession | StoppedSession) -> None:
        if isinstance(session, StoppedSession):
            self.stopped.append(session)
        else:
            self.complete += 1
            self.sessions += len(session.streams)
            self.clicks += session.clicks
            self.missing += len(session.streams) < self.waves

    @property
    def told(self) -> Told:
        says, more = [f"{self}."], len(self.stopped) - MOST_TOLD
        says += [f"{count(len(self.stopped), 'session')} stopped; the same run continues them."] if self.stopped else []
        says += [f"{one.stream}: {one.why}" for one in self.stopped[:MOST_TOLD]]
        return Told([*says, f"And {more:,} more; `parley show calls` shows the calls."] if more > 0 else says)

    def __str__(self) -> str:
        missing = f", {self.missing:,} of them not in every wave" if self.missing else ""
        people = f"{self.complete:,} of {self.total:,} people{missing}; " if self.waves > 1 else ""
        return f"{people}{count(self.sessions, 'complete session')} ({count(self.clicks, 'click')})"


def calls_servers(study: Study) -> bool:
    return any(asks_servers(model.backend) for model in study.file.models.values())


def free_run(study: Study, number: int, seed: str) -> SimulationRun:
    """A run that calls no server, as `parley simulate -n NUMBER --seed SEED` plays it. Raises ArgumentInvalid."""
    if not 1 <= number <= MOST_IN_CONSOLE:
        raise ArgumentInvalid(f"Simulate 1 to {MOST_IN_CONSOLE} participants here; `parley simulate` takes more.")
    return SimulationRun(study, read_user_config("random", scripted=calls_servers(study)), number, seed, at_once=1)


async def simulate(
    database: Database,
    settings: Settings,
    run: SimulationRun,
    on_session: Callable[[SimulatedSession | StoppedSession], None],
) -> None:
    """Play the sessions of a run that have not ended yet. Raises the ParleyError that ails them all."""
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
                on_session(session)
    finally:
        await service.close()
