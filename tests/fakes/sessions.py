"""Sessions played in memory: the engine alone, with a bot for a participant and a word for a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from app.bots.random_bot import RandomBot
from app.bots.simulate import found_answers
from app.bots.tendencies import Tendencies
from app.studies.loader import load_study
from experiments.events import Action, Event
from experiments.session.engine import decide, fold, pending_tasks, screen
from experiments.session.seeded_random import uniform
from experiments.study.location import State
from experiments.study.study import Study

STUDIES = Path(__file__).parent.parent / "core" / "studies"
NAMES = (
    *("chatbench", "mathconverse", "dices-350", "dices-990", "demo", "arena", "service-desk", "write-together"),
    str(STUDIES / "everything.yaml"),
)
MOST_ACTS = 2_000
WORDS = "Let us see."


@cache
def study(name: str) -> Study:
    return load_study(name)


def enrolment(seed: str, at_us: int = 0) -> Action:
    return Action("enrol", "", {"seed": seed, "origin": "bot", "hash": "", "study": ""}, at_us, by="system")


def world(study: Study, state: State, at_us: int, words: str = WORDS) -> Action | None:
    """Return the world's next act for the session: a draw, an assignment, the end, a model's reply, or the call of a
    tool."""
    jobs = pending_tasks(study, state)
    if not jobs:
        return None
    job = jobs[0]
    if job.kind == "reply":
        slot = {"slot": job.slot} if job.slot else {}
        return Action("reply", job.path, {"text": words, "model": job.data["model"], **slot}, at_us, by="model")
    if job.kind == "tool":
        kind = "return" if {"begun", "own"} & job.data.keys() else "begin"
        slot = {"slot": job.slot} if job.slot else {}
        result = {"text": f"Result of {job.data['tool']}.", "chars": 15, "sha256": "0" * 64}
        return Action(kind, job.path, {**slot, **({"result": result} if kind == "return" else {})}, at_us, by="model")
    return Action(job.kind, job.path, {"taken": {}} if "target" in job.data else {}, at_us, by="system")


def click(study: Study, state: State, bot: RandomBot, at_us: int, *, person: str = "", **known: Any) -> Action:
    """Return a bot's act on the present screen; with a person, it gives the right answers that the person finds."""
    seen = screen(study, state)
    kind, values = bot.act(seen)
    if person and kind == "submit":
        values |= found_answers(study, state, Tendencies.of(person), uniform(f"{person}:{state.seq}", "knows"))
    return Action(kind, seen.path, values, at_us, **{"seen": seen.seen, "key": f"key-{state.seq}", **known})


def play(
    study: Study, seed: str, log: Sequence[Event] = (), person: str = ""
) -> Iterator[tuple[State, tuple[Event, ...]]]:
    """A session from where a log stops to its end: each state, and the facts that made it."""
    state = fold(log)
    bot = RandomBot(f"{seed}:{state.seq}", person)
    for number in range(MOST_ACTS):
        at_us = (state.seq + number) * 1_000_000
        if not state.seq:
            action = enrolment(seed, at_us)
        elif (due := world(study, state, at_us, f"Let us see, {seed}, {state.seq}." if person else WORDS)) is not None:
            action = due
        elif screen(study, state).ended:
            return
        else:
            action = click(study, state, bot, at_us, person=person)
        events = decide(study, state, action)
        state = fold(events, state)
        yield state, events
    raise AssertionError(f"not finished after {MOST_ACTS} acts, at {screen(study, state).path}")


@cache
def whole(name: str, seed: str) -> tuple[Event, ...]:
    return tuple(event for _, events in play(study(name), seed) for event in events)
