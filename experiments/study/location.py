"""The state of a session, and its locations in the study's tree.

A location is a step (or an `each` that is not drawn yet) with its path, the events recorded there and the names in
scope. A path names turns of loops by position (`phase-2/question[0]/chat`), never by what was drawn, so that a path
reveals nothing to the browser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from experiments.events import Data, Event
from experiments.study.base_model import Condition
from experiments.study.fields import ANSWER, ChoiceField, Field
from experiments.study.option_order import LETTERS, ORDERED
from experiments.study.schema import Loop, Phase
from experiments.study.screen import TextBlock
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.study.texts import as_written, fill
from problems.problem import Problem

NO_EVENTS: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class DrawRecord:
    """The draw of a loop. `of` is the loop's source; `items` has the values of its variables for each turn."""

    of: str
    items: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class State:
    """The fold of a session's events. `seq` is the number of the last one, `changed` that of the last that changed the
    screen. `draws` and `facts` are by path; `keys` are the idempotency keys of all actions."""

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
    """Empty while the session is in progress."""
    memo: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """The cache of `memoized`, `memoized_until` and `visited_path`, by a name and the study's hash. `replace` clears
    it."""


@dataclass(frozen=True, slots=True)
class LoopTurn:
    """A turn around a location: the loop, the path prefix, its index from 0, and the number of turns."""

    node: Loop
    prefix: str
    index: int
    total: int


@dataclass(frozen=True, slots=True)
class Scope:
    """`phases` (with their paths) and `turns` go from the outermost to the innermost."""

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
        """The problem in scope, as it is shown here. Validation of the study ensures that there is one."""
        assert self.shown_problem is not None, f"{self.path} has no problem in scope"  # noqa: S101
        return self.shown_problem

    @property
    def shown_problem(self) -> Problem | None:
        """The problem in scope, if there is one, with its options in the order and under the letters shown here."""
        problem = self.scope.problem
        keys = self.option_keys if problem and problem.options else ()
        return as_shown(problem, keys) if problem and keys else problem

    @property
    def option_keys(self) -> tuple[str, ...]:
        """The keys of the problem's options in the order drawn for this step; empty if it shows them as listed."""
        return tuple(orders_of(self.facts).get("options", ()))

    def letter(self, key: str) -> str:
        """Return the name of an option of the problem for participants here: the letter of its place, or its key."""
        return str(_letter(self.facts, key))

    def done(self) -> bool:
        """True if the participant has completed this step, or its time limit has passed."""
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
            if tail in event.data and event.kind != ORDERED:
                return event.data[tail]
        return None

    def _displayed(self, name: str) -> str:
        """The value of a name as participants know it: an answer by the letter under which it was shown."""
        value, (head, _, tail) = self.look_up(name), name.partition(".")
        return _shown(_letter(self.sibling_facts(head), value) if tail == ANSWER.name else value)

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
        return fill(self.translate(text), self._displayed)

    def fill_stored(self, text: str) -> str:
        """A text filled with the values of the log, also of answers that had letters, for comparisons."""
        return fill(self.translate(text), lambda name: _shown(self.look_up(name)))

    def fill_markdown(self, text: str) -> str:
        """A text in Markdown, filled; what a participant wrote is shown as written, without markup."""
        return fill(self.translate(text), self._in_markdown)

    def _in_markdown(self, name: str) -> str:
        value, (head, _, tail) = self._displayed(name), name.partition(".")
        of_study = not tail or (self.scope.problem and head in ("problem", self._problem_name()))
        return value if of_study or isinstance(self.look_up(name), int | float) else as_written(value)

    def text_blocks(self, *texts: str) -> tuple[TextBlock, ...]:
        """A block for each text that is not empty, filled."""
        return tuple(TextBlock(self.fill_markdown(text)) for text in texts if text)

    def holds(self, condition: Condition | None) -> bool:
        return all(matches_value(self.look_up(name), wanted) for name, wanted in (condition or {}).items())


@lru_cache(maxsize=10_000)
def without_indices(path: str) -> str:
    """A path without the numbers of loop turns: `question[*]/answer`."""
    return re.sub(r"\[\d+\]", "[*]", path)


def orders_of(events: Iterable[Event]) -> Data:
    return next((event.data for event in events if event.kind == ORDERED), {})


def in_order(fields: Sequence[Field], events: Iterable[Event]) -> tuple[Field, ...]:
    found = orders_of(events)
    choices, places = found.get("choices", {}), {name: place for place, name in enumerate(found.get("questions", ()))}
    shown = (
        field.model_copy(update={"options": {key: field.options[key] for key in choices[field.name]}})
        if isinstance(field, ChoiceField) and field.name in choices
        else field
        for field in fields
    )
    return tuple(sorted(shown, key=lambda field: places.get(field.name, 0)))


@lru_cache(maxsize=1_000)
def as_shown(problem: Problem, keys: tuple[str, ...]) -> Problem:
    """A problem with its options in the order of these keys, under the letters of their places."""
    letters, options = dict(zip(keys, LETTERS, strict=False)), {option.key: option for option in problem.options}
    shown = tuple(replace(options[key], key=letter) for key, letter in letters.items())
    return replace(problem, options=shown, answer=letters.get(problem.answer or "", problem.answer))


def language_of(study: Study, state: State) -> str:
    """The session's language: the one that the participant chose, or else the study's default."""
    return str(state.enrolled.get("language") or study.file.language)


def as_words(wanted: object) -> frozenset[str]:
    """The values as texts; a truth value stands for a checkbox, and for an option of that name."""
    each = wanted if isinstance(wanted, tuple | list) else (wanted,)
    return frozenset(map(str, each)) | {str(item).lower() for item in each if isinstance(item, bool)}


def exclusive(one: Condition | None, other: Condition | None) -> bool:
    """True if two conditions can never both hold: they need different values of the same name."""
    a, b = one or {}, other or {}
    return any(name in b and not as_words(a[name]) & as_words(b[name]) for name in a)


def matches_value(value: Any, wanted: Any) -> bool:
    """True if a value (or any of a list) equals what a condition wants (or any of a list), compared as text."""
    held = value if isinstance(value, tuple | list) else (value,)
    return value is not None and not as_words(wanted).isdisjoint(map(str, held))


def _letter(facts: tuple[Event, ...], key: Any) -> Any:
    keys = orders_of(facts).get("options", ())
    return LETTERS[keys.index(key)] if key in keys else key


def _shown(value: Any) -> str:
    """A value as participants read it; nothing if there is none, 100 for 100.0, and of several all."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    whole = isinstance(value, float) and value.is_integer()
    return "" if value is None else str(int(value) if whole else value)


def _attribute(problem: Problem, name: str) -> str | None:
    fixed = {"id": problem.id, "text": problem.text, "dataset": problem.dataset}
    return fixed.get(name, problem.tags.get(name))
