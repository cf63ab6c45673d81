"""The path of a participant through a study or their wave: the locations reached, cached in the session's states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from experiments.events import Data, Event
from experiments.study.location import Location, LoopTurn, Scope, State, without_indices
from experiments.study.schema import Factor, Loop, Node, Phase, Wave
from experiments.study.step import Step
from experiments.study.study import Study

T = TypeVar("T")


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


# Cached values that are carried over to later states: by name, the kinds of events that invalidate them.
LASTING: dict[str, frozenset[str]] = {}


def memoized_until(*until: str) -> Callable[[Callable[[Study, State], T]], Callable[[Study, State], T]]:
    """Like `memoized`, but later states reuse the value until there is an event of one of these kinds."""

    def once_until(find: Callable[[Study, State], T]) -> Callable[[Study, State], T]:
        LASTING[find.__qualname__] = frozenset(until)
        return memoized(find)

    return once_until


def wave_of(study: Study, state: State) -> Wave | None:
    return next((wave for wave in study.waves if wave.id == state.enrolled.get("wave")), None)


def is_later_wave(study: Study, state: State) -> bool:
    wave = wave_of(study, state)
    return wave is not None and wave.id != study.waves[0].id


def factors_of(study: Study, state: State) -> Mapping[str, Factor]:
    """The factors of a session: those of the study, and its wave's own."""
    wave = wave_of(study, state)
    return {**study.factors, **wave.factors} if wave else study.factors


def holds_place(study: Study, state: State) -> bool:
    """True from the start, or from consent if the study has `admission`; a person counts in the first wave only."""
    if is_later_wave(study, state):
        return False
    if not study.admission or state.factors:
        return True
    return any(event.kind == "submitted" for event in state.facts.get(study.admission, ()))


TRAIL = "trail"
# The kinds of events that can change which conditions hold anywhere in the study.
LASTING[TRAIL] = frozenset({"enrolled", "assigned"})


def outcome_of(finished: Data) -> str:
    return str(finished.get("outcome", "complete"))


def flow_of(study: Study, state: State) -> Sequence[Node]:
    wave = state.enrolled.get("wave")
    return tuple(node for node in study.flow if node.id == wave) if wave else study.flow


def walk(study: Study, state: State, start: str = "") -> Iterator[Location]:
    """The locations in the participant's order, also those that are not done; the caller stops at the first of them.
    Those before `start`, a path that was reached earlier, are left out."""
    values = {**study.constants, **state.factors}
    yield from _walk(study, state, flow_of(study, state), "", Scope(values), start)


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
    """True if the path `to` is `path` or below it."""
    return to.startswith(path) and to[len(path) : len(path) + 1] in ("", "/", "[")


def _turns(study: Study, state: State, loop: Loop, path: str, scope: Scope, start: str) -> Iterator[Location]:
    items = state.draws[path].items
    for index, item in enumerate(items):
        prefix = f"{path}[{index}]/"
        if start and not start.startswith(prefix):
            continue
        turn = LoopTurn(loop, prefix, index, len(items))
        problem, pool = scope.problem, scope.pool
        if loop.over_problems:
            problem, pool = study.problem(loop.pool, item[loop.each]), loop.pool
        inner = Scope({**scope.values, **item}, scope.phases, (*scope.turns, turn), problem, pool)
        yield from _walk(study, state, loop.flow, prefix, inner, start)
        start = ""
        if loop.until and Location(prefix + "-", loop, inner, study, state).holds(loop.until):
            return


@dataclass(frozen=True, slots=True)
class VisitedNode:
    """A reached location without its state, in whose cache it would be a cycle for the garbage collector."""

    path: str
    node: Step | Loop
    scope: Scope


@dataclass(frozen=True, slots=True)
class VisitedPath:
    """The locations reached, in order; the last is the current one, unless all are done (`over`). `seq` is the number
    of the last event that it takes into account."""

    seq: int
    stops: tuple[VisitedNode, ...]
    over: bool

    @property
    def behind(self) -> int:
        return len(self.stops) - (not self.over)


def visited_path(study: Study, state: State) -> VisitedPath:
    """A done location stays done, so the search continues from the path that `cached_path` carried over."""
    key = (TRAIL, study.hash)
    known: VisitedPath | None = state.memo.get(key)
    if known is None or known.seq != state.seq:
        longer = _longer(study, state, known.stops) if known and known.stops else None
        known = state.memo[key] = longer or _walk_on(study, state, (), "")
    return known


def _longer(study: Study, state: State, nodes: tuple[VisitedNode, ...]) -> VisitedPath | None:
    """The visited path that continues `nodes`; None if its last location is no longer reached."""
    *behind, last = nodes
    if isinstance(last.node, Step):
        place = Location(last.path, last.node, last.scope, study, state)
        if not place.done() and place.holds(last.node.when):
            return VisitedPath(state.seq, nodes, over=False)
    found = _walk_on(study, state, tuple(behind), last.path)
    return found if len(found.stops) > len(behind) else None


def _walk_on(study: Study, state: State, visited_nodes: tuple[VisitedNode, ...], start: str) -> VisitedPath:
    stops, over = list(visited_nodes), True
    for place in walk(study, state, start):
        stops.append(VisitedNode(place.path, place.node, place.scope))
        over = place.done()
        if not over:
            break
    return VisitedPath(state.seq, tuple(stops), over)


def cached_path(state: State, event: Event) -> dict[tuple[str, str], Any]:
    """The cached values that the state after one more event can reuse: those of `memoized_until`, and the visited path.
    An event changes no location before the last, but for the kinds in LASTING, which decide which there are."""
    return {key: known for key, known in state.memo.items() if key[0] in LASTING and event.kind not in LASTING[key[0]]}


def current_location(study: Study, state: State) -> Location | None:
    """The first location that is not done; None if all are."""
    known = visited_path(study, state)
    if known.over:
        return None
    now = known.stops[-1]
    return Location(now.path, now.node, now.scope, study, state)


def furthest(location: Location) -> str:
    """The path, without turn numbers, of the furthest step that a session at this location has reached."""
    if not any(turn.index for turn in location.scope.turns):
        return without_indices(location.path)
    stops = visited_path(location.study, location.state).stops
    reached = {without_indices(stop.path) for stop in stops if isinstance(stop.node, Step)}
    return next((path for path, _ in reversed(location.study.steps) if path in reached), without_indices(location.path))


def visited(study: Study, state: State) -> Iterator[Location]:
    """The locations that the participant has reached: all that are done, and the current one."""
    for stop in visited_path(study, state).stops:
        yield Location(stop.path, stop.node, stop.scope, study, state)
