"""What happened in a session, told by problem: the view from which released rows are made.

A unit is one problem in one turn of a loop, with the facts of each of its steps. It knows its phase, its position in
the whole session and everything that was in scope, so that a schema needs no path and no step's class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.core.events import NOTES, Event
from experiments.core.place import Place, State
from experiments.core.resolve import Study
from experiments.core.step import Step
from experiments.core.study import Phase
from experiments.core.talk import turns
from experiments.core.trail import reached
from problems.item import Problem


@dataclass(frozen=True, slots=True)
class Done:
    """A step of a unit that was reached: its id and kind, and its facts, oldest first."""

    id: str
    kind: str
    events: tuple[Event, ...]

    @property
    def submitted(self) -> Event | None:
        """The fact that ended it, if it is ended."""
        return next((event for event in self.events if event.kind == "submitted"), None)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A turn of a conversation: a message, its reply and the ratings given to it."""

    message: Event
    reply: Event
    ratings: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Unit:
    """One problem as a participant met it. `position` counts from 0 over the session, `turn` within its loop;
    `groups` are the groups of problems (sets, batches) whose loops are around it, outermost first.
    """

    prefix: str
    pool: str
    problem: Problem
    phase: int | None
    position: int
    turn: int
    loop: str
    values: Mapping[str, str]
    groups: tuple[str, ...]
    steps: tuple[Done, ...]

    def answered(self, name: str) -> Any:
        """The answer of that name in any step of the unit; None if there is none."""
        given = [submitted.data.get(name) for step in self.steps if (submitted := step.submitted)]
        return next((value for value in given if value is not None), None)

    def step(self, kind: str) -> Done | None:
        """The unit's first step of a kind."""
        return next((step for step in self.steps if step.kind == kind), None)

    def spoken(self) -> tuple[Spoken, ...]:
        """The turns of its conversation, with ratings given at once or at the end."""
        chat, later = self.step("chat"), self.step("rate_turns")
        pairs = turns(chat.events) if chat else []
        rated = {e.data["turn"]: e.data for e in chat.events if e.kind == "rated"} if chat else {}
        given = later.submitted.data if later and later.submitted else {}
        return tuple(Spoken(a, b, _ratings(n, rated.get(n, {}), given)) for n, (a, b) in enumerate(pairs))

    def events(self) -> list[Event]:
        """All its facts in order."""
        return sorted((event for step in self.steps for event in step.events), key=lambda event: event.seq)


def _ratings(turn: int, at_once: Mapping[str, Any], at_end: Mapping[str, Any]) -> dict[str, int]:
    later = {name.rpartition("_")[0]: value for name, value in at_end.items() if name.rpartition("_")[2] == str(turn)}
    return {name: value for name, value in {**at_once, **later}.items() if name != "turn" and value is not None}


def units(study: Study, state: State) -> tuple[Unit, ...]:
    """Every problem that the participant has come to, in order."""
    phases = [node.id for node in study.flow if isinstance(node, Phase)]
    grouped: dict[str, list[Place]] = {}
    for place in reached(study, state):
        turn = _turn(place)
        if turn is not None and isinstance(place.node, Step):
            grouped.setdefault(turn, []).append(place)
    return tuple(_unit(prefix, places, position, phases) for position, (prefix, places) in enumerate(grouped.items()))


def _turn(place: Place) -> str | None:
    """The prefix of the problem's turn: the innermost loop over problems, if that is the innermost loop."""
    turns = place.scope.turns
    return turns[-1].prefix if turns and turns[-1].node.over_problems else None


def _unit(prefix: str, places: Iterable[Place], position: int, phases: list[str]) -> Unit:
    places = list(places)
    scope = places[0].scope
    done = tuple(Done(place.node.id, place.node.step, place.facts) for place in places if isinstance(place.node, Step))
    phase = phases.index(scope.phases[0][0].id) + 1 if scope.phases else None
    turn = scope.turns[-1]
    assert scope.problem is not None  # noqa: S101  (a turn over problems has one)
    groups = tuple(scope.values[outer.node.each] for outer in scope.turns if not outer.node.over_problems)
    loop = prefix.rpartition("[")[0]
    return Unit(prefix, scope.pool, scope.problem, phase, position, turn.index, loop, scope.values, groups, done)


def comparisons(study: Study, state: State) -> tuple[tuple[str, tuple[Event, ...]], ...]:
    """Every conversation with several models side by side, with or without a problem: its path and its facts."""
    return tuple(
        (place.path, place.facts)
        for place in reached(study, state)
        if isinstance(place.node, Step) and place.node.step == "compare"
    )


def took_ms(state: State, step: Done) -> int | None:
    """Milliseconds from when a step came on the screen to when it was submitted; None if it was not.

    A screen is shown by the fact before the step's first, whoever's it is (the last step submitted, a draw); notes,
    which change no screen, are passed over. Breaks count: a participant who came back the next day took a day.
    """
    if step.submitted is None:
        return None
    shown = [event for event in state.events[: step.events[0].seq - 1] if event.kind not in NOTES]
    return (step.submitted.at_us - shown[-1].at_us) // 1000


def answers(state: State) -> dict[str, Any]:
    """Every answer given outside of problems' turns, by name; the first given under a name."""
    found: dict[str, Any] = {}
    for path, events in state.facts.items():
        if "[" not in path:
            for event in events:
                if event.kind == "submitted":
                    found = {**event.data, **found}
    return found


def ranks(state: State, loop: str) -> list[int] | None:
    """The ranks given to a loop's turns, in the order in which they were met; None if there are none."""
    prefix, _, name = loop.rpartition("/")
    beside = [event for path, events in state.facts.items() if path.rpartition("/")[0] == prefix for event in events]
    given = next((e.data for e in beside if e.kind == "submitted" and e.data.get("of") == name), {})
    named = [value for key, value in given.items() if key.startswith("rank_")]
    return [int(value) for value in named] or None
