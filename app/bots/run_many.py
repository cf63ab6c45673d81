"""Many simulated sessions at once, each on a clock of its own; what stops one of them harms no other.

Who is stopped, by a user that cannot go on or by Ctrl-C, stays where they are: the same command goes on from there. No
reply that is in the log is asked for again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from app.backends.registry import asks_servers
from app.bots.simulate import SimulatedSession, arrivals, simulate_session, stream_of
from app.bots.user_config import SimulatedUserConfig
from app.clock import PerTaskClock
from app.config.settings import Settings
from app.errors import UserFailed
from app.session.service import SessionService
from experiments.errors import Refused
from experiments.study.study import Study
from problems.errors import ParleyError

NEVER = 10**9


@dataclass(frozen=True, slots=True)
class StoppedSession:
    stream: str
    why: str


@dataclass(frozen=True, slots=True)
class SimulationRun:
    study: Study
    cast: SimulatedUserConfig
    count: int
    seed: str
    at_once: int


def clock_for_each(study: Study, config: SimulatedUserConfig) -> PerTaskClock:
    """Clocks that move with the world's time where any model is asked at a server, and by themselves where none is."""
    return PerTaskClock(living=any(asks_servers(model.backend) for model in config.called(study)))


def settings_for(settings: Settings) -> Settings:
    """The settings under which simulated users ask models: who can wait needs no breaker, whose time is one for all."""
    return settings.model_copy(update={"breaker_failures": NEVER})


async def run_simulations(
    service: SessionService, clocks: PerTaskClock, run: SimulationRun
) -> AsyncGenerator[SimulatedSession | StoppedSession, None]:
    """Each session as it ends or stops. Raises what ails more than one: a spent budget, a server that is away."""
    waiting = arrivals(run.study, run.count, run.seed, run.cast)
    ended: asyncio.Queue[SimulatedSession | StoppedSession | ParleyError | None] = asyncio.Queue()

    async def work() -> None:
        try:
            for label, arrives_us in waiting:
                ended.put_nowait(await _one(service, clocks, run, (label, arrives_us)))
        except ParleyError as error:
            ended.put_nowait(error)
        finally:
            ended.put_nowait(None)

    tasks = [asyncio.create_task(work()) for _ in range(min(run.at_once, run.count))]
    try:
        left = len(tasks)
        while left:
            one = await ended.get()
            if isinstance(one, ParleyError):
                raise one
            if one is None:
                left -= 1
            else:
                yield one
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _one(
    service: SessionService, clocks: PerTaskClock, run: SimulationRun, arrives: tuple[str, int]
) -> SimulatedSession | StoppedSession:
    label, arrives_us = arrives
    try:
        return await simulate_session(service, clocks.begin(arrives_us), run.study, label, config=run.cast)
    except UserFailed as failed:
        return StoppedSession(stream_of(label), str(failed))
    except Refused as refused:
        if refused.reason == "closed":
            raise
        return StoppedSession(
            stream_of(label), f"an action of its user was refused: {refused} {refused.fields or ''}".strip()
        )
