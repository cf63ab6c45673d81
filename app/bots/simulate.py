"""Whole sessions without a browser: bots through the participants' door, on a virtual clock.

The same study and seed give the same sessions to the byte: their streams, seeds, times and words are all derived. A
session that is already complete is left alone, and one that was interrupted goes on where it was, so that the command
can be stopped and repeated at any time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from app.bots.random_bot import RandomBot
from app.clock import VirtualClock
from app.counting import Live
from app.runtime import Runtime
from experiments.core.chance import unit
from experiments.core.participation import Cap
from experiments.core.place import here
from experiments.core.resolve import Study
from experiments.core.screen import Screen
from experiments.core.step import Step
from experiments.errors import Fault, StudyError

START_US = 1_767_258_000_000_000
"""When simulated time begins: 2026-01-01 09:00 UTC."""
ARRIVALS_S = 90.0
"""How long after one another simulated participants arrive, on average."""
MOST_CLICKS = 5_000
CARE = 0.9
"""How often they know what passes a check: who answers by chance would seldom get beyond one."""


@dataclass(frozen=True, slots=True)
class Walked:
    """A finished session: how many clicks it took, and how long by the virtual clock."""

    live: Live
    clicks: int
    minutes: float


async def simulate(runtime: Runtime, clock: VirtualClock, study: Study, count: int, seed: str) -> AsyncIterator[Walked]:
    """Finish `count` sessions one after another."""
    arrival_us = START_US
    for number in range(count):
        label = label_of(study, seed, number)
        clock.set(arrival_us)
        arrival_us += round(2e6 * ARRIVALS_S * unit(label, "arrival"))
        yield await walk_through(runtime, clock, study, label)


def wait_until_open(clock: VirtualClock, screen: Screen) -> None:
    """Let the time pass until a screen may be left."""
    opens_us = screen.timing.opens_us if screen.timing else None
    if opens_us is not None and opens_us > clock.now_us():
        clock.set(opens_us)


def label_of(study: Study, seed: str, number: int) -> str:
    """What all of a simulated session is derived from."""
    return f"{study.hash}:{seed}:{number}"


def seed_of(label: str) -> str:
    """The seed of a simulated session."""
    return f"bot:{label}"


async def walk_through(
    runtime: Runtime, clock: VirtualClock, study: Study, label: str, shut: tuple[Cap, ...] = ()
) -> Walked:
    """One session from enrolment to its end, in none of the cells that are `shut`; resumed where it stopped."""
    name = uuid5(NAMESPACE_URL, f"parley:bot:{label}")
    stream = str(name)
    live = await runtime.live(stream)
    if live is None:
        offered = study.file.offered
        told = {"language": offered[name.int % len(offered)]} if len(offered) > 1 else {}
        live = await runtime.enrol(study, origin="bot", seed=seed_of(label), stream=stream, shut=shut, told=told)
    else:
        clock.set(live.state.events[-1].at_us)
    bot = RandomBot(f"{label}:{live.state.seq}")
    begun_us = clock.now_us()
    for clicks in range(MOST_CLICKS):
        await runtime.settled(stream)
        live = await runtime.live(stream) or live
        screen = live.screen
        if screen.ended:
            return Walked(live, clicks, (clock.now_us() - begun_us) / 60e6)
        kind, values = bot.act(screen)
        if kind == "submit" and unit(f"{label}:{live.state.seq}", "care") < CARE:
            values |= knows(live)
        clock.advance(bot.seconds(screen, values))
        wait_until_open(clock, screen)
        key = f"{live.state.seq}"
        await runtime.participant(stream, kind, screen.path, values, seen=screen.seen, key=key)
    raise StudyError(study.name, [Fault(live.screen.path, f"is not left after {MOST_CLICKS} clicks")])


def knows(live: Live) -> Mapping[str, Any]:
    """Answers that pass a check, as who reads with care would find them; nothing elsewhere."""
    place = here(live.study, live.state)
    return place.node.passing(place) if place is not None and isinstance(place.node, Step) else {}
