"""The state of a session, and its locations in the study's tree.

A location is a step (or an `each` that is not drawn yet) with its path, the events recorded there and the names in
scope. A path names turns of loops by position (`phase-2/question[0]/chat`), never by what was drawn, so that a path
reveals nothing to the browser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar

from experiments.events import Data, Event
from experiments.study.base_model import Condition, as_words
from experiments.study.schema import Loop, Node, Phase
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.study.template import as_written, fill
from problems.problem import Problem

T = TypeVar("T")
NO_EVENTS: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class DrawRecord:
    """The draw of a loop. `of` is the loop's source; `items` has the values of its variables for each turn."""

    of: str
    items: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class State:
    """The state of a session: the fold of its events.

    `seq` is the number of the last event, `changed` that of the last event that changed the screen. `draws` and `facts`
    are by path; `keys` are the idempotency keys of all actions.
    """

    seq: int = 0
    changed: int = 0
    seed: str = ""
    enrolled: Data = field(default_factory=dict)
    factors: Mapping[str, str] = field(default_factory=dict)
    draws: Mapping[str, DrawRecord] = field(default_factory=dict)
    facts: Mapping[str, tuple[Event, ...]] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()
    events: tuple[Event, ...] = ()
    outcome: str = ""
    """How the session ended; empty while it is in progress."""
    memo: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """The cache of `memoized`, `memoized_until` and `visited_path`, by a name and the study's hash. `replace` clears
    it."""


def memoized(find: Callable[[Study, State], T]) -> Callable[[Study, State], T]:
    """Cache a pure function of a study and a state in the state, because each request calls it several times."""

    name = find.__qualname__

    @wraps(find)
    def found(study: Study, state: State) -> T:
        key, memo = (name, study.hash), state.memo
        if key not in memo:
            memo[key] = find(study, state)
        known: T = memo[key]
        return known

    return found


LASTING: dict[str, frozenset[str]] = {}
"""Cached values that are carried over to later states: by name, the kinds of events that invalidate them."""


def memoized_until(*until: str) -> Callable[[Callable[[Study, State], T]], Callable[[Study, State], T]]:
    """Like `memoized`, but later states reuse the value until there is an event of one of these kinds."""

    def once_until(find: Callable[[Study, State], T]) -> Callable[[Study, State], T]:
        LASTING[find.__qualname__] = frozenset(until)
        return memoized(find)

    return once_until


@dataclass(frozen=True, slots=True)
class LoopTurn:
    """A turn of a loop around a location: the loop, the path prefix of the turn, its index from 0, and the number of
    turns."""

    node: Loop
    prefix: str
    index: int
    total: int


@dataclass(frozen=True, slots=True)
class Scope:
    """The names in scope at a location. `phases` (with their paths) and `turns` go from the outermost to the
    innermost."""

    values: Mapping[str, str] = field(default_factory=dict)
    phases: tuple[tuple[Phase, str], ...] = ()
    turns: tuple[LoopTurn, ...] = ()
    problem: Problem | None = None
    pool: str = ""


@dataclass(frozen=True, slots=True)
class Location:
    """A step or an undrawn loop of the study at its path, in a session."""

    path: str
    node: Step | Loop
    scope: Scope
    study: Study
    state: State

    @property
    def facts(self) -> tuple[Event, ...]:
        """The events recorded at this path, oldest first."""
        return self.state.facts.get(self.path, NO_EVENTS)

    @property
    def problem(self) -> Problem:
        """The problem in scope. Validation of the study ensures that there is one."""
        assert self.scope.problem is not None, f"{self.path} has no problem in scope"  # noqa: S101
        return self.scope.problem

    def done(self) -> bool:
        """Whether the participant has completed this step, or its time limit has passed."""
        if any(event.kind == "expired" for event in self.facts):
            return True
        return isinstance(self.node, Step) and self.node.done(self)

    def sibling_facts(self, step_id: str) -> tuple[Event, ...]:
        """The events of another step by its id: of the nearest such step in the phases and loop turns around."""
        prefix = self.path
        while prefix:
            prefix = prefix.rpartition("/")[0]
            found = self.state.facts.get(f"{prefix}/{step_id}" if prefix else step_id)
            if found:
                return found
        return NO_EVENTS

    def look_up(self, name: str) -> Any:
        """The value of a name: a factor, a loop's variable, `number`, `last`, `problem.tag`, `step.field`; or None."""
        head, _, tail = name.partition(".")
        if not tail and head in self.scope.values:
            return self.scope.values[head]
        if name == "language":
            return self.language
        if head in ("number", "last") and not tail and self.scope.turns:
            turn = self.scope.turns[-1]
            return turn.index + 1 if head == "number" else "yes" if turn.index + 1 == turn.total else "no"
        if tail and self.scope.problem and head in ("problem", self._problem_name()):
            return _attribute(self.scope.problem, tail)
        for event in reversed(self.sibling_facts(head)):
            if tail in event.data:
                return event.data[tail]
        return None

    def _problem_name(self) -> str:
        loops = [turn.node for turn in self.scope.turns if turn.node.over_problems]
        return loops[-1].each if loops else "problem"

    @property
    def language(self) -> str:
        return language_of(self.study, self.state)

    def translate(self, text: str) -> str:
        return self.study.translate(text, self.language) if self.study.file.translations else text

    def fill(self, text: str) -> str:
        """A text, translated and with its `{{names}}` replaced by their values; an unknown name by nothing."""
        return fill(self.translate(text), lambda name: _shown(self.look_up(name)))

    def fill_markdown(self, text: str) -> str:
        """A text in Markdown, filled; what a participant wrote is shown as written, without markup."""
        return fill(self.translate(text), self._in_markdown)

    def _in_markdown(self, name: str) -> str:
        value, (head, _, tail) = self.look_up(name), name.partition(".")
        of_study = not tail or (self.scope.problem and head in ("problem", self._problem_name()))
        return _shown(value) if of_study or isinstance(value, int | float) else as_written(_shown(value))

    def holds(self, condition: Condition | None) -> bool:
        return all(matches_value(self.look_up(name), wanted) for name, wanted in (condition or {}).items())


def holds_place(study: Study, state: State) -> bool:
    """Whether the session counts against the quota: from the start, or from consent if the study has `admission`."""
    if not study.admission or state.factors:
        return True
    return any(event.kind == "submitted" for event in state.facts.get(study.admission, ()))


def language_of(study: Study, state: State) -> str:
    """The session's language: the one that the participant chose, or else the study's default."""
    return str(state.enrolled.get("language") or study.file.language)


def matches_value(value: Any, wanted: Any) -> bool:
    """Whether a value (or any of a list) equals what a condition wants (or any of a list), compared as text."""
    held = value if isinstance(value, tuple | list) else (value,)
    return value is not None and not as_words(wanted).isdisjoint(map(str, held))


def _shown(value: Any) -> str:
    """A value as participants read it; nothing if there is none, and 100 for 100.0."""
    whole = isinstance(value, float) and value.is_integer()
    return "" if value is None else str(int(value) if whole else value)


def _attribute(problem: Problem, name: str) -> str | None:
    fixed = {"id": problem.id, "text": problem.text, "dataset": problem.dataset}
    return fixed.get(name, problem.tags.get(name))


TRAIL = "trail"
LASTING[TRAIL] = frozenset({"enrolled", "assigned"})
"""The kinds of events that can change which conditions hold anywhere in the study."""


def walk(study: Study, state: State, start: str = "") -> Iterator[Location]:
    """The locations in the participant's order, including ones that are not done; the caller stops at the first of
    those.

    `start` is the path of a location that was reached earlier: those before it are left out.
    """
    values = {**study.constants, **state.factors}
    yield from _walk(study, state, study.flow, "", Scope(values), start)


def _walk(
    study: Study, state: State, nodes: Sequence[Node], prefix: str, scope: Scope, start: str
) -> Iterator[Location]:
    """The locations below `nodes`. The caller stops at the first that is not done; a skipped one ends its flow here."""
    for node in nodes:
        path = prefix + node.id
        if start and not _leads(path, start):
            continue
        if node.when and not Location(path, node, scope, study, state).holds(node.when):
            continue
        after = "" if start == path else start
        start = ""
        if isinstance(node, Phase):
            inner = Scope(scope.values, (*scope.phases, (node, path)), scope.turns, scope.problem, scope.pool)
            yield from _walk(study, state, node.flow, f"{path}/", inner, after)
        elif isinstance(node, Loop) and path in state.draws:
            yield from _turns(study, state, node, path, scope, after)
        else:
            place = Location(path, node, scope, study, state)
            yield place
            if any(event.kind == "skipped" for event in place.facts):
                return


def _leads(path: str, to: str) -> bool:
    """Whether the path `to` is `path` or below it."""
    return to.startswith(path) and to[len(path) : len(path) + 1] in ("", "/", "[")


def _turns(study: Study, state: State, node: Loop, path: str, scope: Scope, start: str) -> Iterator[Location]:
    items = state.draws[path].items
    for index, item in enumerate(items):
        prefix = f"{path}[{index}]/"
        if start and not start.startswith(prefix):
            continue
        turn = LoopTurn(node, prefix, index, len(items))
        problem, pool = scope.problem, scope.pool
        if node.over_problems:
            problem, pool = study.problem(node.pool, item[node.each]), node.pool
        inner = Scope({**scope.values, **item}, scope.phases, (*scope.turns, turn), problem, pool)
        yield from _walk(study, state, node.flow, prefix, inner, start)
        start = ""
        if node.until and Location(prefix + "-", node, inner, study, state).holds(node.until):
            return


@dataclass(frozen=True, slots=True)
class VisitedNode:
    """A location that was reached, without its study and state.

    A Location in the cache of a state would refer to that state: a cycle, which only the garbage collector frees.
    """

    path: str
    node: Step | Loop
    scope: Scope


@dataclass(frozen=True, slots=True)
class VisitedPath:
    """The locations that the participant has reached, in order. The last is the current one, unless all are done
    (`over`).

    `seq` is the number of the last event that it takes into account.
    """

    seq: int
    stops: tuple[VisitedNode, ...]
    over: bool

    @property
    def behind(self) -> int:
        return len(self.stops) - (not self.over)


def visited_path(study: Study, state: State) -> VisitedPath:
    """The locations that the participant has reached. A done location stays done, so the search continues from the
    path that `cached_path` carried over from an earlier state."""
    key = (TRAIL, study.hash)
    known: VisitedPath | None = state.memo.get(key)
    if known is None or known.seq != state.seq:
        longer = _longer(study, state, known.stops) if known and known.stops else None
        known = state.memo[key] = longer or _walk_on(study, state, (), "")
    return known


def _longer(study: Study, state: State, stops: tuple[VisitedNode, ...]) -> VisitedPath | None:
    """The visited path that continues `stops`; None if its last location is no longer reached."""
    *behind, last = stops
    if isinstance(last.node, Step):
        place = Location(last.path, last.node, last.scope, study, state)
        if not place.done() and place.holds(last.node.when):
            return VisitedPath(state.seq, stops, over=False)
    found = _walk_on(study, state, tuple(behind), last.path)
    return found if len(found.stops) > len(behind) else None


def _walk_on(study: Study, state: State, behind: tuple[VisitedNode, ...], start: str) -> VisitedPath:
    stops, over = list(behind), True
    for place in walk(study, state, start):
        stops.append(VisitedNode(place.path, place.node, place.scope))
        over = place.done()
        if not over:
            break
    return VisitedPath(state.seq, tuple(stops), over)


def cached_path(state: State, event: Event) -> dict[tuple[str, str], Any]:
    """The cached values of a state that the state after one more event can reuse: those of `memoized_until`, and the
    visited path. An event belongs to the last location and changes none before it, except for the kinds in LASTING,
    which decide which locations there are."""
    return {key: known for key, known in state.memo.items() if key[0] in LASTING and event.kind not in LASTING[key[0]]}


def current_location(study: Study, state: State) -> Location | None:
    """The first location that is not done; None if all are."""
    known = visited_path(study, state)
    if known.over:
        return None
    now = known.stops[-1]
    return Location(now.path, now.node, now.scope, study, state)


def visited(study: Study, state: State) -> Iterator[Location]:
    """The locations that the participant has reached: all that are done, and the current one."""
    for stop in visited_path(study, state).stops:
        yield Location(stop.path, stop.node, stop.scope, study, state)
