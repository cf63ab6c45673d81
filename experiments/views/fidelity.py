"""The verdicts of the study's `fidelity` rules on a session, from its events alone; and adherence: how many replies
kept a rule, by condition, rule, turn and version of the model.

Counts are of one session, so that intervals can be clustered by it; `added_up` joins those of several.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from experiments.events import Event
from experiments.session.fidelity import CHECKED, Value

Condition = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`kept` is None where unknown; `of` is the event `replied` or `withheld`; `condition` also has loops' values."""

    of: int
    path: str
    turn: int
    slot: str
    condition: Condition
    rule: str
    check: str
    model: str
    version: str
    shown: bool
    kept: bool | None
    value: Value
    judge: str = ""
    judge_version: str = ""


class AdherenceCell(NamedTuple):
    condition: Condition
    rule: str
    turn: int
    model: str
    version: str


class AdherenceCount(NamedTuple):
    """Of `all` replies with a verdict, how many `kept` the rule."""

    kept: int
    all: int


Adherence = Mapping[AdherenceCell, AdherenceCount]


def verdicts(events: Iterable[Event]) -> Iterator[Verdict]:
    for event in events:
        if event.kind == CHECKED:
            data: dict[str, Any] = {name: event.data.get(name) for name in Verdict.__slots__}
            data |= {name: data[name] or "" for name in ("slot", "version", "judge", "judge_version")}
            yield Verdict(**data | {"path": event.path, "condition": tuple(sorted(data["condition"].items()))})


def adherence(verdicts: Iterable[Verdict], *, withheld: bool = False) -> Adherence:
    """The replies that participants read, or with `withheld` all that models gave, by rule, and how many kept it."""
    return added_up(
        {AdherenceCell(one.condition, one.rule, one.turn, one.model, one.version): AdherenceCount(one.kept, 1)}
        for one in verdicts
        if one.kept is not None and (one.shown or withheld)
    )


def added_up(counts: Iterable[Adherence]) -> Adherence:
    found: defaultdict[AdherenceCell, AdherenceCount] = defaultdict(lambda: AdherenceCount(0, 0))
    for one in counts:
        for cell, (kept, all_) in one.items():
            found[cell] = AdherenceCount(found[cell].kept + kept, found[cell].all + all_)
    return dict(found)
