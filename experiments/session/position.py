"""Where a participant has come: the places of the study's tree that are done, and the first that is not.

There is no cursor: the present place is the first that is not done, so that reload, a second tab, a crashed server and
another replica are all the same case. What is behind stays so, and a trail that is known is only made longer; without
one the study is walked from its start, with the same end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.events import Event
from experiments.session.state import LASTING, Place, Scope, State, Turn
from experiments.study.resolve import Study
from experiments.study.schema import Each, Node, Phase
from experiments.study.step import Step

TRAIL = "trail"
LASTING[TRAIL] = frozenset({"enrolled", "assigned"})
"""Kinds of facts by which conditions come to hold anywhere in the study."""


def walk(study: Study, state: State, start: str = "") -> Iterator[Place]:
    """Every place from the start to the first that is not done, inclusive; in the participant's order.

    `start` is the path of a place that was come to before: what lies before it is passed over.
    """
    values = {**study.constants, **state.factors}
    yield from _walk(study, state, study.flow, "", Scope(values), start)


def _walk(study: Study, state: State, nodes: Sequence[Node], prefix: str, scope: Scope, start: str) -> Iterator[Place]:
    """Yields places; an undone place ends the caller's loop, a skipped one the flow that it is in."""
    for node in nodes:
        path = prefix + node.id
        if start and not _leads(path, start):
            continue
        if node.when and not Place(path, node, scope, study, state).holds(node.when):
            continue
        after = "" if start == path else start
        start = ""
        if isinstance(node, Phase):
            inner = Scope(scope.values, (*scope.phases, (node, path)), scope.turns, scope.problem, scope.pool)
            yield from _walk(study, state, node.flow, f"{path}/", inner, after)
        elif isinstance(node, Each) and path in state.draws:
            yield from _turns(study, state, node, path, scope, after)
        else:
            place = Place(path, node, scope, study, state)
            yield place
            if any(event.kind == "skipped" for event in place.facts):
                return


def _leads(path: str, to: str) -> bool:
    """Whether a place is at a path or within what is there."""
    return to.startswith(path) and to[len(path) : len(path) + 1] in ("", "/", "[")


def _turns(study: Study, state: State, node: Each, path: str, scope: Scope, start: str) -> Iterator[Place]:
    items = state.draws[path].items
    for index, item in enumerate(items):
        prefix = f"{path}[{index}]/"
        if start and not start.startswith(prefix):
            continue
        turn = Turn(node, prefix, index, len(items))
        problem, pool = scope.problem, scope.pool
        if node.over_problems:
            problem, pool = study.problem(node.pool, item[node.each]), node.pool
        inner = Scope({**scope.values, **item}, scope.phases, (*scope.turns, turn), problem, pool)
        yield from _walk(study, state, node.flow, prefix, inner, start)
        start = ""
        if node.until and Place(prefix + "-", node, inner, study, state).holds(node.until):
            return


@dataclass(frozen=True, slots=True)
class Stop:
    """A place that was come to.

    It is no Place: one that is kept with its state would hold what holds it, for the garbage collector to find.
    """

    path: str
    node: Step | Each
    scope: Scope


@dataclass(frozen=True, slots=True)
class Trail:
    """Every place that the participant has come to, in order; the last is the present one, unless all is `over`.

    `seq` is the number of the fact that it was found after.
    """

    seq: int
    stops: tuple[Stop, ...]
    over: bool

    @property
    def behind(self) -> int:
        """How many places are done."""
        return len(self.stops) - (not self.over)


def trail(study: Study, state: State) -> Trail:
    """Where the participant has come. A place that is done stays so, so that it is found from where a trail that was
    `carried` along had come."""
    key = (TRAIL, study.hash)
    known: Trail | None = state.memo.get(key)
    if known is None or known.seq != state.seq:
        longer = _longer(study, state, known.stops) if known and known.stops else None
        known = state.memo[key] = longer or _found(study, state, (), "")
    return known


def _longer(study: Study, state: State, stops: tuple[Stop, ...]) -> Trail | None:
    """The trail that begins so; None where its last place is not come to any more."""
    *behind, last = stops
    if isinstance(last.node, Step):
        place = Place(last.path, last.node, last.scope, study, state)
        if not place.done() and place.holds(last.node.when):
            return Trail(state.seq, stops, over=False)
    found = _found(study, state, tuple(behind), last.path)
    return found if len(found.stops) > len(behind) else None


def _found(study: Study, state: State, behind: tuple[Stop, ...], start: str) -> Trail:
    stops, over = list(behind), True
    for place in walk(study, state, start):
        stops.append(Stop(place.path, place.node, place.scope))
        over = place.done()
        if not over:
            break
    return Trail(state.seq, tuple(stops), over)


def carried(state: State, event: Event) -> dict[tuple[str, str], Any]:
    """What is known of a state and serves for that after one more fact: the trail, as facts are of its last place and
    change nothing behind it, but for those that decide which places there are; and what is `lasting`."""
    return {key: known for key, known in state.memo.items() if key[0] in LASTING and event.kind not in LASTING[key[0]]}


def here(study: Study, state: State) -> Place | None:
    """The first place that is not done; None where the study has been left behind."""
    known = trail(study, state)
    if known.over:
        return None
    now = known.stops[-1]
    return Place(now.path, now.node, now.scope, study, state)


def reached(study: Study, state: State) -> Iterator[Place]:
    """The places that the participant has come to: all that are done, and the present one."""
    for stop in trail(study, state).stops:
        yield Place(stop.path, stop.node, stop.scope, study, state)
