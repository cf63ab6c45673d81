"""Evaluate a conversation by its task as tau2-bench 1.0.1 does it (its evaluator).

The reward is the product of the parts that the task names (`reward_basis`), each 0 or 1:

    DB           the calls that were made lead to the same database, from the domain's own, as the expected actions
    COMMUNICATE  each text to be communicated is in a reply, without regard to capitals and to commas in the reply
    ACTION       each expected action is among the calls, in the arguments that it names

A conversation that was not ended by the participant has a reward of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from experiments.events import Event
from experiments.session.tool_calls import CALLED, made_calls
from experiments.study.location import Location
from problems.bicycle_shop import BicycleShop
from problems.errors import ProblemError
from problems.tau2 import evaluation_of, task_of

DB, COMMUNICATE, ACTION = "DB", "COMMUNICATE", "ACTION"
# What a task wants that names no parts.
BASIS = (DB, COMMUNICATE)
# How a conversation ends; only the first is the participant's own end.
ENDED, CUT_OFF = "submitted", ("skipped", "expired")
SAID = ("opened", CALLED, "replied")
Call = tuple[str, Mapping[str, Any]]


class Domain(Protocol):
    """A database and the tools that change it, without chance."""

    database: dict[str, Any]

    @property
    def tools(self) -> Mapping[str, Callable[..., object]]: ...


# Those whose databases are known here, by the name of their folder; tau2's own evaluator has its own.
DOMAINS: Mapping[str, Callable[[], Domain]] = {"bicycle-shop": BicycleShop}


@dataclass(frozen=True, slots=True)
class Reward:
    """`parts` has 0 or 1 for each part of the basis, or None where that cannot be known here; then `reward` is None."""

    ended: bool
    parts: Mapping[str, int | None]

    @property
    def reward(self) -> int | None:
        if not self.ended:
            return 0
        known = [part for part in self.parts.values() if part is not None]
        return min(known, default=1) if len(known) == len(self.parts) else None


def reward_at(location: Location) -> Reward | None:
    """The reward of a conversation that is over; None elsewhere, and where there is no task."""
    problem, facts = location.scope.problem, location.facts
    end = next((event.kind for event in facts if event.kind in (ENDED, *CUT_OFF)), "")
    if problem is None or not task_of(problem) or not end or not any(event.kind == "said" for event in facts):
        return None
    return reward(evaluation_of(problem), facts, DOMAINS.get(problem.dataset), ended=end == ENDED)


def reward(
    evaluation: Mapping[str, Any], events: Sequence[Event], domain: Callable[[], Domain] | None, *, ended: bool = True
) -> Reward:
    calls = list(made_calls(events))
    texts = [str(event.data.get("text", "")).lower().replace(",", "") for event in events if event.kind in SAID]
    actions, free = evaluation.get("actions"), not (evaluation.get("actions") or evaluation.get("env_assertions"))
    expected: list[Call] = [(action["name"], action["arguments"]) for action in actions or ()]
    known: dict[str, int | None] = {
        DB: 1
        if free and actions is None
        else domain and int(database_after(domain, calls) == database_after(domain, expected)),
        COMMUNICATE: int(all(any(info.lower() in text for text in texts) for info in _told(evaluation))),
        ACTION: int(all(any(_matches(action, *call) for call in calls) for action in actions or ())),
    }
    return Reward(ended, {part: known.get(part) for part in evaluation.get("reward_basis", BASIS)})


def database_after(domain: Callable[[], Domain], calls: Iterable[Call]) -> Mapping[str, Any]:
    """The database that calls lead to; one that is impossible, or unknown, changes nothing."""
    made = domain()
    for tool, arguments in calls:
        with suppress(ProblemError, TypeError, ValueError, KeyError):
            made.tools[tool](**arguments)
    return made.database


def _told(evaluation: Mapping[str, Any]) -> Sequence[str]:
    return evaluation.get("communicate_info") or ()


def _matches(action: Mapping[str, Any], tool: str, arguments: Mapping[str, Any]) -> bool:
    named = action.get("compare_args")
    names = arguments if named is None else named
    wanted = {name: value for name, value in action["arguments"].items() if name in names}
    return bool(action["name"] == tool and wanted == {name: arguments[name] for name in names if name in arguments})
