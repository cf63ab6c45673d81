"""A session by problem: the view from which the rows of released tables are made.

A problem turn is one problem in one turn of a loop, with the events of each of its steps. It has its phase, its
position in the session and all names in scope, so that a schema needs no paths and no step classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from experiments.events import NOTES, Event
from experiments.session.conversation import turns
from experiments.session.state import LASTING, TRAIL, VisitedNode, visited, visited_path
from experiments.study.fields import ANSWER
from experiments.study.location import NO_EVENTS, Scope, State
from experiments.study.schema import Phase
from experiments.study.step import Step
from experiments.study.study import Study, nodes_of
from experiments.study.texts import fill
from problems.problem import Problem

T = TypeVar("T")
UNITS = "units"
# Problem turns are cached across states like the visited path, because completed ones do not change.
LASTING[UNITS] = LASTING[TRAIL]

ENDINGS = frozenset({"submitted", "expired", "finished"})


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A step of a problem turn that was reached: the step of the study, and its events, oldest first."""

    node: Step
    events: tuple[Event, ...]

    @property
    def id(self) -> str:
        return self.node.id

    @property
    def kind(self) -> str:
        return self.node.step

    @property
    def submitted(self) -> Event | None:
        return next((event for event in self.events if event.kind == "submitted"), None)

    @property
    def ended(self) -> Event | None:
        """The event that ended the step: its answers, or the end of its time; None if it is open or was skipped."""
        return next((event for event in self.events if event.kind in ENDINGS), None)

    @property
    def asks_answer(self) -> bool:
        return any(field.name == ANSWER.name for field in self.node.questions_asked())


@dataclass(frozen=True, slots=True)
class RatedTurn:
    message: Event
    reply: Event
    ratings: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ProblemTurn:
    """`position` counts from 0 over the session, `turn` within its loop; `groups` are outermost first."""

    prefix: str
    pool: str
    problem: Problem
    phase: int | None
    position: int
    turn: int
    loop: str
    scope: Scope
    groups: tuple[str, ...]
    steps: tuple[StepRecord, ...]

    @property
    def values(self) -> Mapping[str, str]:
        return self.scope.values

    def answered(self, name: str) -> Any:
        """The answer of that name in any step of the turn; None if there is none."""
        given = [submitted.data.get(name) for step in self.steps if (submitted := step.submitted)]
        return next((value for value in given if value is not None), None)

    def step(self, kind: str) -> StepRecord | None:
        return next((step for step in self.steps if step.kind == kind), None)

    def spoken(self) -> tuple[RatedTurn, ...]:
        """The turns of its conversation, with ratings given after each reply or at the end."""
        chat, later = self.step("chat"), self.step("rate_turns")
        pairs = turns(chat.events) if chat else []
        rated = {e.data["turn"]: e.data for e in chat.events if e.kind == "rated"} if chat else {}
        given = later.submitted.data if later and later.submitted else {}
        return tuple(RatedTurn(a, b, _ratings(n, rated.get(n, {}), given)) for n, (a, b) in enumerate(pairs))

    def events(self) -> list[Event]:
        return sorted((event for step in self.steps for event in step.events), key=lambda event: event.seq)


def model_at(step: Step, scope: Scope) -> str | None:
    """The model in scope, or the only one of its loop's conversations; None if there is none, or several."""
    around = nodes_of(scope.turns[-1].node.flow) if scope.turns else ()
    steps = (node for node in around if isinstance(node, Step))
    return _only_model((step,), scope) or scope.values.get("model") or _only_model(steps, scope)


def _only_model(steps: Iterable[Step], scope: Scope) -> str | None:
    asked = {fill(text, lambda name: scope.values.get(name, "")) for step in steps for text in step.asks_models(())}
    return asked.pop() if len(asked) == 1 else None


def _ratings(turn: int, at_once: Mapping[str, Any], at_end: Mapping[str, Any]) -> dict[str, int]:
    later = {name.rpartition("_")[0]: value for name, value in at_end.items() if name.rpartition("_")[2] == str(turn)}
    return {name: value for name, value in {**at_once, **later}.items() if name != "turn" and value is not None}


def problem_turns(study: Study, state: State) -> tuple[ProblemTurn, ...]:
    key, known = (UNITS, study.hash), visited_path(study, state)
    phases = [node.id for node in study.flow if isinstance(node, Phase)]
    grouped: dict[str, list[VisitedNode]] = {}
    for stop in known.stops:
        turn = _turn(stop)
        if turn is not None and isinstance(stop.node, Step):
            grouped.setdefault(turn, []).append(stop)
    behind: dict[str, ProblemTurn] = state.memo.get(key, {})
    found = [
        behind.get(prefix) or _unit(state, prefix, stops, position, phases)
        for position, (prefix, stops) in enumerate(grouped.items())
    ]
    now = known.stops[-1].path if known.stops else ""
    state.memo[key] = {unit.prefix: unit for unit in found if not now.startswith(unit.prefix)}
    return tuple(found)


def each_problem_turn(*until: str) -> Callable[[Callable[[State, ProblemTurn], T]], Callable[[Study, State], list[T]]]:
    """Decorate a function to return its results of all turns, in order, cached until the turn changes, or there is an
    event of a kind in `until`. Of the state it may read only the seed and what events of these kinds change."""

    def of_each(find: Callable[[State, ProblemTurn], T]) -> Callable[[Study, State], list[T]]:
        name = f"{find.__module__}.{find.__qualname__}"
        LASTING[name] = LASTING[UNITS] | set(until)

        @wraps(find)
        def found(study: Study, state: State) -> list[T]:
            key = (name, study.hash)
            known: dict[str, tuple[ProblemTurn, T]] = state.memo.get(key, {})
            now: dict[str, tuple[ProblemTurn, T]] = {}
            for unit in problem_turns(study, state):
                kept = known.get(unit.prefix)
                now[unit.prefix] = kept if kept and kept[0] is unit else (unit, find(state, unit))
            state.memo[key] = now
            return [one for _, one in now.values()]

        return found

    return of_each


def _turn(node: VisitedNode) -> str | None:
    """The prefix of the problem's turn: the innermost loop over problems, if that is the innermost loop."""
    turns = node.scope.turns
    return turns[-1].prefix if turns and turns[-1].node.over_problems else None


def _unit(state: State, prefix: str, nodes: Sequence[VisitedNode], position: int, phases: list[str]) -> ProblemTurn:
    scope = nodes[0].scope
    done = tuple(
        StepRecord(stop.node, state.facts.get(stop.path, NO_EVENTS)) for stop in nodes if isinstance(stop.node, Step)
    )
    phase = phases.index(scope.phases[0][0].id) + 1 if scope.phases else None
    turn = scope.turns[-1]
    assert scope.problem is not None  # noqa: S101  (a turn over problems has one)
    groups = tuple(scope.values[outer.node.each] for outer in scope.turns if not outer.node.over_problems)
    loop = prefix.rpartition("[")[0]
    return ProblemTurn(prefix, scope.pool, scope.problem, phase, position, turn.index, loop, scope, groups, done)


def comparisons(study: Study, state: State) -> tuple[tuple[str, tuple[Event, ...]], ...]:
    """Every conversation with several models side by side, with or without a problem: its path and its events."""
    return tuple(
        (place.path, place.facts)
        for place in visited(study, state)
        if isinstance(place.node, Step) and place.node.step == "compare"
    )


def took_ms(state: State, step: StepRecord) -> int | None:
    """The time on a step; None if it was not submitted. A screen is shown at the event before the step's first one,
    whoever caused it, other than notes. Breaks count: a participant who came back the next day took a day."""
    if step.submitted is None:
        return None
    before = (state.events[seq - 1] for seq in range(step.events[0].seq - 1, 0, -1))
    shown = next(event for event in before if event.kind not in NOTES)
    return (step.submitted.at_us - shown.at_us) // 1000


def answers(state: State) -> dict[str, Any]:
    """The answers given outside of problem turns, by name; the first answer if a name occurs several times."""
    found: dict[str, Any] = {}
    for path, events in state.facts.items():
        if "[" not in path:
            for event in events:
                if event.kind == "submitted":
                    found = {**event.data, **found}
    return found


def ranks(state: State, loop: str) -> list[int] | None:
    """The ranks given to a loop's turns, in the order of the turns; None if there are none."""
    prefix, _, name = loop.rpartition("/")
    beside = [event for path, events in state.facts.items() if path.rpartition("/")[0] == prefix for event in events]
    given = next((e.data for e in beside if e.kind == "submitted" and e.data.get("of") == name), {})
    named = [value for key, value in given.items() if key.startswith("rank_")]
    return [int(value) for value in named] or None
