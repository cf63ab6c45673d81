"""The funnel of a study: its steps in order, and how many sessions reached each, stopped there or are there now.

A session counts for all steps up to the furthest that it reached, in the order of its own condition: the steps that its
factors do not rule out. In a later turn of a loop, the furthest step is the last step of the loop that it has reached
in any turn. Conditions on answers are ignored: such a step counts for every session. In a study with waves, a session
counts for the steps of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from experiments.study.base_model import Condition
from experiments.study.location import matches_value
from experiments.study.study import Study

COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """A step of a study: its path without turn numbers, and the conditions on it and on the nodes around it."""

    path: str
    kind: str
    title: str
    whens: tuple[Condition, ...]

    def of(self, factors: Mapping[str, str]) -> bool:
        return all(
            matches_value(factors[name], wanted)
            for when in self.whens
            for name, wanted in when.items()
            if name in factors
        )


@dataclass(frozen=True, slots=True)
class SessionGroup:
    """A number of sessions with equal factors at one step; `oldest_us` is the earliest time of their last events."""

    factors: Mapping[str, str]
    place: str
    furthest: str
    outcome: str | None
    live: bool
    number: int
    oldest_us: int


@dataclass(frozen=True, slots=True)
class StepCount:
    """Sessions that have it in their condition (`of`), reached it, stopped there, are there now and since when."""

    path: str
    kind: str
    title: str
    of: int
    came: int
    stopped: int
    now: int
    since_us: int | None


@dataclass(frozen=True, slots=True)
class Funnel:
    """The steps in order; `elsewhere` is the number of sessions at none of them: of another version, or erased."""

    steps: tuple[StepCount, ...]
    elsewhere: int


def funnel_steps(study: Study) -> tuple[FunnelStep, ...]:
    """The steps of a study in order; alternatives for different conditions may have the same path."""
    return tuple(
        FunnelStep(path, step.step, step.title, tuple(node.when for node in (*above, step) if node.when))
        for path, step, above in study.placed_steps
    )


def _wave(path: str) -> str:
    return path.partition("/")[0]


def funnel(study: Study, groups: Iterable[SessionGroup]) -> Funnel:
    every = funnel_steps(study)
    counts = {name: Counter[str]() for name in ("of", "came", "stopped", "now")}
    since: dict[str, int] = {}
    elsewhere = 0
    for group in groups:
        reached = [stage for stage in every if not study.waves or _wave(stage.path) == _wave(group.furthest)]
        own = list(dict.fromkeys(stage.path for stage in reached if stage.of(group.factors)))
        if group.place not in own or group.furthest not in own:
            elsewhere += group.number
            continue
        counts["of"].update(dict.fromkeys(own, group.number))
        counts["came"].update(dict.fromkeys(own[: own.index(group.furthest) + 1], group.number))
        if group.live:
            counts["now"][group.place] += group.number
            since[group.place] = min(group.oldest_us, since.get(group.place, group.oldest_us))
        elif group.outcome != COMPLETE:
            counts["stopped"][group.place] += group.number
    first = {stage.path: stage for stage in reversed(every)}
    met = (
        StepCount(
            path,
            first[path].kind,
            first[path].title,
            counts["of"][path],
            counts["came"][path],
            counts["stopped"][path],
            counts["now"][path],
            since.get(path),
        )
        for path in dict.fromkeys(stage.path for stage in every)
    )
    return Funnel(tuple(met), elsewhere)
