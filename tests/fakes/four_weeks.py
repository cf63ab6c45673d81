"""A study of four weeks with two arms, whose participants rate their trust each week; and simulated users whose trust
grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.bots.simulate import START_US, SimulatedSession, label_of, simulate_session
from app.bots.user_config import SimulatedUserConfig
from app.bots.users.base import Ask, UserAction
from app.bots.users.random import Random
from app.bots.users.registry import Kind
from app.clock import VirtualClock
from app.session.service import SessionService
from experiments.study.resolve import resolve
from experiments.study.screen import Screen
from experiments.study.sections.recruitment import Quota
from experiments.study.study import Study

TRUST = {"name": "trust", "type": "scale", "text": "I trust it.", "options": [str(point) for point in range(1, 12)]}
ARMS = ("plain", "warm")
# The growth of trust from one week to the next in the last arm.
GROWTH = 0.8


def week(number: int) -> dict[str, Any]:
    flow = [{"step": "survey", "id": "ask", "questions": [TRUST]}, {"step": "finish", "code": f"WEEK-{number}"}]
    if number == 1:
        return {"wave": "Week 1", "flow": [{"step": "consent", "text": "Four weeks."}, *flow]}
    opens = {"opens": {"after": "7 days", "at": "09:00"}, "open_for": "3 days", "grace": "1 day", "missed": "drop"}
    return {"wave": f"Week {number}", **opens, "flow": flow}


def raw(**keys: Any) -> dict[str, Any]:
    waves = [week(number) for number in (1, 2, 3, 4)]
    return {"study": "weeks", "title": "Four weeks", "factors": {"companion": [*ARMS]}, "waves": waves, **keys}


def study(**keys: Any) -> Study:
    return resolve(raw(**keys), {}, {})


class Growing(Random):
    """A user whose trust is about 4 at first, and grows by `slope` each week."""

    slope = 0.0

    async def act(self, screen: Screen, ask: Ask) -> UserAction:
        action = self.by_chance(screen)
        if "trust" not in action.values:
            return action
        noise = (int(str(action.values["trust"])) - 6) / 4
        trust = round(4 + self.slope * (int(screen.path.partition("/")[0][-1]) - 1) + noise)
        return replace(action, values={**action.values, "trust": str(max(1, min(11, trust)))})


class Steep(Growing):
    slope = GROWTH


async def play(
    service: SessionService, study: Study, clock: VirtualClock, people: int, rates: Mapping[str, float]
) -> list[SimulatedSession]:
    """So many people in each arm, of whom a share by arm does not come to a wave; trust grows in the last arm."""
    found = []
    for number in range(people * len(ARMS)):
        arm = ARMS[-1 - number % len(ARMS)]  # not in the order of the file
        others = tuple(Quota(max=0, where={"companion": other}) for other in ARMS if other != arm)
        config = SimulatedUserConfig(Kind(arm, Steep if arm == ARMS[-1] else Growing), late=0.2, never=rates[arm])
        clock.set(START_US + number * 60_000_000)
        found.append(await simulate_session(service, clock, study, label_of(study, "1", number), others, config=config))
    return found
