"""What was decided about a running study: facts of its own stream, outside its hash, folded like a session's.

    budgeted {amount, where}   what its models' replies may cost; null for no limit
    capped {where, most}       how many are wanted there; 0 lets nobody new in, null lifts it
    paused {why}               nobody new can begin
    piloted {}                 who begins now tries it out: their data are marked
    opened {}                  people can begin, and their data count

`where` are factors with their values, none for all participants. Those who have begun always go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from experiments.core.events import Data, Event
from experiments.core.participation import Cap

KINDS = ("budgeted", "capped", "paused", "piloted", "opened")
Where = tuple[tuple[str, str], ...]
"""Factors with their values, sorted, so that the same ones are equal."""
EVERYBODY: Where = ()


@dataclass(frozen=True, slots=True)
class Operations:
    """What holds for a study now."""

    budgets: Mapping[Where, float] = field(default_factory=dict)
    """What replies may cost, altogether and in cells."""
    caps: Mapping[Where, int | None] = field(default_factory=dict)
    """How many are wanted in place of what the study says; None for as many as come."""
    paused: str | None = None
    """Why nobody new can begin; None while people can."""
    pilot: bool = False
    """Whether who begins tries it out."""

    @property
    def budget(self) -> float | None:
        """What all replies together may cost."""
        return self.budgets.get(EVERYBODY)

    def caps_of(self, written: Sequence[Cap]) -> tuple[Cap, ...]:
        """The caps that hold: those of the study's file, but for what was decided since."""
        held: dict[Where, int | None] = {**{where_of(cap.where): cap.most for cap in written}, **self.caps}
        return tuple(Cap(where=dict(where), most=most) for where, most in held.items() if most is not None)


def where_of(values: Mapping[str, str]) -> Where:
    """Factors with their values, in an order of their own."""
    return tuple(sorted(values.items()))


def _budgets(known: Mapping[Where, float], told: Data) -> dict[Where, float]:
    where = where_of(told.get("where", {}))
    others = {other: amount for other, amount in known.items() if other != where}
    return others if told["amount"] is None else {**others, where: told["amount"]}


def fold_operations(events: Iterable[Event]) -> Operations:
    """What holds after these facts of a study's stream; those of imports say nothing about it."""
    now = Operations()
    for event in events:
        match event.kind:
            case "budgeted":
                now = replace(now, budgets=_budgets(now.budgets, event.data))
            case "capped":
                now = replace(now, caps={**now.caps, where_of(event.data["where"]): event.data["most"]})
            case "paused":
                now = replace(now, paused=event.data["why"])
            case "piloted":
                now = replace(now, paused=None, pilot=True)
            case "opened":
                now = replace(now, paused=None, pilot=False)
            case _:
                pass
    return now
