"""A participant's progress: as a text ("Phase 2, question 3 of 9") and as a share from 0 to 1.

Turns are counted within the innermost phase, or within the loop around them (a set of problems), over all loops there
whose turns look alike.
The share counts steps; a loop that is not drawn yet counts the number that it will draw.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.session.state import LASTING, flow_of, memoized_until, visited_path
from experiments.study.location import Location, LoopTurn, State, language_of, matches_value
from experiments.study.schema import Loop, Node, Phase
from experiments.study.screen import ProgressView
from experiments.study.study import Study
from experiments.study.texts import lazy

# The kinds of events that decide the number of steps and the language.
STEPS = frozenset({"enrolled", "assigned", "drawn"})
PROGRESS = "progress"
# Names of loops that are words for people; each language has them. A turn of any other loop is a task.
NOUNS = frozenset({"check", "conversation", "item", "problem", "question", "set", "theorem"})
TASK = "task"
LASTING[PROGRESS] = STEPS


def progress(study: Study, state: State, location: Location | None) -> ProgressView:
    """The progress; None means that all steps are done. Cached, because each message of a conversation shows it."""
    if location is None:
        return ProgressView("", 1.0)
    known: tuple[str, ProgressView] | None = state.memo.get((PROGRESS, study.hash))
    if known is None or known[0] != location.path:
        known = state.memo[PROGRESS, study.hash] = (location.path, _progress(study, state, location))
    return known[1]


def _progress(study: Study, state: State, location: Location) -> ProgressView:
    behind = visited_path(study, state).behind
    total = max(behind + 1, round(_steps(study, state)))
    return ProgressView(_words(location), min(1.0, behind / max(1, total - 1)))


def _words(location: Location) -> str:
    phases, turns = location.scope.phases, location.scope.turns
    words = _capital(location.translate(phases[-1][0].phase)) if phases else ""
    for depth, turn in enumerate(turns):
        parent = turns[depth - 1].prefix if depth else (f"{phases[-1][1]}/" if phases else "")
        loops = _beside(location, turn.node)
        number, total = _count(location, turn, parent, loops)
        if total > 1 or len(turns) == 1:
            noun = location.translate(noun_of(loops[0]))
            count = lazy(
                "{what} {number} of {total}", what=noun if words else _capital(noun), number=number, total=total
            )
            words = lazy("{before}, {after}", before=words, after=count) if words else count
    return words


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def noun_of(loop: Loop) -> str:
    return loop.label or (loop.each if loop.each in NOUNS else TASK)


def _beside(location: Location, loop: Loop) -> list[Loop]:
    """A loop and those of its sibling loops that are counted as one with it. The first gives the noun."""
    flows: list[Sequence[Node]] = [location.study.flow]
    flows += [phase.flow for phase, _ in location.scope.phases]
    flows += [turn.node.flow for turn in location.scope.turns]
    flow = next((flow for flow in flows if any(child is loop for child in flow)), (loop,))
    return [other for other in flow if isinstance(other, Loop) and _look_alike(other, loop)]


def _look_alike(loop: Loop, other_loop: Loop) -> bool:
    """True if of one name, or kinds of steps: participants must not tell checks from the questions before."""
    return loop.each == other_loop.each or list(map(type, loop.flow)) == list(map(type, other_loop.flow))


def _count(location: Location, turn: LoopTurn, prefix: str, loops: Sequence[Loop]) -> tuple[int, int]:
    """The number of this turn among all turns of the sibling loops, from 1, and the number of all."""
    number, total, passed = turn.index + 1, 0, False
    for other in loops:
        draw = location.state.draws.get(prefix + other.id)
        size = len(draw.items) if draw else (other.take or other.up_to or 1)
        passed = passed or other is turn.node
        number += 0 if passed else size
        total += size
    return number, total


@memoized_until(*STEPS)
def _steps(study: Study, state: State) -> float:
    return sum(_weight(node, study, state, "") for node in flow_of(study, state))


def _weight(node: Node, study: Study, state: State, prefix: str) -> float:
    """The expected number of steps of a node; steps under an undecided condition count half."""
    factor = _chance(node, study, state)
    if factor == 0 or not isinstance(node, Phase | Loop):
        return factor
    inner = sum(_weight(child, study, state, f"{prefix}{node.id}/") for child in node.flow)
    if isinstance(node, Loop):
        draw = state.draws.get(prefix + node.id)
        inner *= len(draw.items) if draw else (node.take or node.up_to or len(study.pools[node.pool]))
    return factor * inner


def _chance(node: Node, study: Study, state: State) -> float:
    if not node.when:
        return 1.0
    values = {"language": language_of(study, state), **state.factors}
    known = {name: wanted for name, wanted in node.when.items() if name in values}
    if not all(matches_value(values[name], wanted) for name, wanted in known.items()):
        return 0.0
    return 1.0 if len(known) == len(node.when) else 0.5
