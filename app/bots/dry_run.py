"""A study tried out by simulated participants, with the scripted model in place of every other: nothing is spent.

They find what cannot be finished, how long a session takes, and how often each model is asked; from that follows what
the study will cost. A token is taken as four characters, which is about right for English.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from app.bots.preview_session import every_value, offline, without_factor
from app.bots.simulate import START_US, label_of, simulate, simulate_session
from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.replies.judges import Questions
from app.session.service import SessionService
from experiments.study.study import Study
from storage.datasets.exports.preview import empty_schemas
from storage.db.engine import Database, open_database
from storage.registers.origins import Origin
from storage.reports.costs import attempts

TOKEN_CHARS = 4
# What a message costs beyond its words, as its role and its ends are tokens as well.
MESSAGE_TOKENS = 4


@dataclass(frozen=True, slots=True)
class DryRunResult:
    """Minutes and costs, one for each simulated participant, and calls a participant by model."""

    minutes: tuple[float, ...]
    costs: tuple[float, ...]
    calls: Mapping[str, float]
    unpriced: tuple[str, ...]
    empty: tuple[str, ...]
    """The released formats of the study in which none of them has a row."""

    @property
    def typical_minutes(self) -> float:
        return median(self.minutes)


async def estimate_by_simulation(
    study: Study,
    count: int,
    reply_tokens: int,
    read: Callable[[Database], object] = lambda _: None,
    questions: Questions | None = None,
) -> DryRunResult:
    """Let `count` simulated participants finish the study; raises StudyError where one cannot. `read` is called with
    the database of their sessions, which is then removed. Judges are asked by `questions`."""
    free = offline(study)
    with TemporaryDirectory() as folder:
        clock = VirtualClock(START_US)
        database = open_database(f"sqlite:///{folder}/check.db")
        service = SessionService(database, Settings(), clock, questions)
        try:
            service.studies.register(free)
            walks = [walked async for walked in simulate(service, clock, free, count, "check")]
            met = {pair for walked in walks for pair in walked.live.state.factors.items()}
            rare = [pair for pair in every_value(free) if pair not in met]  # what nobody has had so far
            for number, (name, value) in enumerate(rare, start=count):
                await simulate_session(
                    service, clock, free, label_of(free, "check", number), without_factor(free, {name: value})
                )
        finally:
            await service.close()
        whose = {stream: number for number, walked in enumerate(walks) for stream in walked.streams}
        costs, calls = [0.0] * len(walks), Counter[str]()
        for attempt in attempts(database, study.name):
            if attempt["stream"] in whose:
                calls[attempt["model"]] += 1
                costs[whose[attempt["stream"]]] += _cost(study, attempt, reply_tokens)
        read(database)
        empty = tuple(empty_schemas(database, study.name, Origin.BOT))
        database.dispose()
    minutes = tuple(walked.minutes for walked in walks)
    unpriced = tuple(name for name in sorted(calls) if study.model(name).price is None)
    return DryRunResult(minutes, tuple(costs), {name: n / count for name, n in calls.items()}, unpriced, empty)


def _cost(study: Study, attempt: Mapping[str, Any], reply_tokens: int) -> float:
    """The cost of a call with replies of a usual length, in place of the scripted model's."""
    model = study.model(attempt["model"])
    written = min(reply_tokens, attempt["request"]["max_tokens"] or reply_tokens)
    read = 0.0
    for message in attempt["request"]["messages"]:
        words = written if message["role"] == "assistant" else len(message["text"]) / TOKEN_CHARS
        read += MESSAGE_TOKENS + words
    return model.price.of(read, written) if model.price else 0.0
