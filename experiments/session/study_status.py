"""What was decided about a running study: facts of its own stream, outside its hash, folded like a session's.

    published {hash, version}  who begins from now on gets this version
    budgeted {amount, where}   what its models' replies may cost; null for no limit
    capped {where, most}       how many are wanted there; 0 lets nobody new in, null lifts it
    paused {why}               nobody new can begin
    closed {why}               nobody new can begin, and none is expected to
    piloted {}                 who begins now tries it out: their data are marked
    opened {}                  people can begin, and their data count

`where` are factors with their values, none for all participants. Those who have begun always go on.
A study of which nothing was decided is open; one that was published first is a draft until it is piloted or opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, get_args

from experiments.errors import NotPossible
from experiments.events import Data, Event
from experiments.study.recruitment import Quota

StudyState = Literal["draft", "pilot", "open", "paused", "closed"]
Decision = Literal["published", "budgeted", "capped", "paused", "closed", "piloted", "opened"]
KINDS: tuple[Decision, ...] = get_args(Decision)
ALWAYS: tuple[Decision, ...] = ("published", "budgeted", "capped")
"""What can be decided in every state."""
CHANGES: Mapping[StudyState, tuple[Decision, ...]] = MappingProxyType(
    {
        "draft": ("piloted", "opened", "closed"),
        "pilot": ("opened", "paused", "closed"),
        "open": ("piloted", "paused", "closed"),
        "paused": ("opened", "piloted", "closed"),
        "closed": ("opened", "piloted"),
    }
)
"""What can be decided besides in a state: to which others the study can change."""
Where = tuple[tuple[str, str], ...]
"""Factors with their values, sorted, so that the same ones are equal."""
EVERYBODY: Where = ()


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """What holds for a study now."""

    budgets: Mapping[Where, float] = field(default_factory=dict)
    """What replies may cost, altogether and in cells."""
    caps: Mapping[Where, int | None] = field(default_factory=dict)
    """How many are wanted in place of what the study says; None for as many as come."""
    paused: str | None = None
    """Why nobody new can begin for a while."""
    closed: str | None = None
    """Why nobody new can begin any more."""
    pilot: bool = False
    """Whether who begins tries it out."""
    published: str | None = None
    """The hash of the version that was published last."""
    decided: bool = False
    """Whether it was ever said if people can begin."""

    @property
    def state(self) -> StudyState:
        """How the study stands, in a word."""
        if self.closed is not None:
            return "closed"
        if self.paused is not None:
            return "paused"
        if self.published is not None and not self.decided:
            return "draft"
        return "pilot" if self.pilot else "open"

    @property
    def allowed(self) -> tuple[Decision, ...]:
        """What can be decided now, by whatever door. A study that is open as nothing was decided can be opened, so that
        publishing it makes no draft of it."""
        first: tuple[Decision, ...] = () if self.decided or self.state != "open" else ("opened",)
        return (*first, *CHANGES[self.state], *ALWAYS)

    @property
    def offered(self) -> bool:
        """Whether a server that was told no names has a page for it."""
        return self.published is not None and self.state != "draft"

    @property
    def closed_reason(self) -> str | None:
        """Why nobody new can begin; None while people can."""
        said = self.paused if self.closed is None else self.closed
        return "draft" if said is None and self.state == "draft" else said

    @property
    def budget(self) -> float | None:
        """What all replies together may cost."""
        return self.budgets.get(EVERYBODY)

    def quotas_of(self, written: Sequence[Quota]) -> tuple[Quota, ...]:
        """The caps that hold: those of the study's file, but for what was decided since."""
        held: dict[Where, int | None] = {**{where_of(cap.where): cap.max for cap in written}, **self.caps}
        return tuple(Quota(where=dict(where), max=most) for where, most in held.items() if most is not None)


def where_of(values: Mapping[str, str]) -> Where:
    """Factors with their values, in an order of their own."""
    return tuple(sorted(values.items()))


def refuse_unfit(study: str, now: StudyStatus, kind: Decision) -> None:
    """Raise NotPossible where the study's state does not allow a decision."""
    if kind not in now.allowed:
        state = f"a {now.state}" if now.state in ("draft", "pilot") else now.state
        raise NotPossible(f"{study} is {state}, and cannot be {kind}; it can be {' or '.join(CHANGES[now.state])}.")


def _budgets(known: Mapping[Where, float], told: Data) -> dict[Where, float]:
    where = where_of(told.get("where", {}))
    others = {other: amount for other, amount in known.items() if other != where}
    return others if told["amount"] is None else {**others, where: told["amount"]}


def fold_operations(events: Iterable[Event]) -> StudyStatus:
    """What holds after these facts of a study's stream; those of imports say nothing about it."""
    now = StudyStatus()
    for event in events:
        match event.kind:
            case "budgeted":
                now = replace(now, budgets=_budgets(now.budgets, event.data))
            case "capped":
                now = replace(now, caps={**now.caps, where_of(event.data["where"]): event.data["most"]})
            case "published":
                now = replace(now, published=event.data["hash"])
            case "paused":
                now = replace(now, paused=event.data["why"], decided=True)
            case "closed":
                now = replace(now, closed=event.data["why"], decided=True)
            case "piloted" | "opened":
                now = replace(now, paused=None, closed=None, pilot=event.kind == "piloted", decided=True)
            case _:
                pass
    return now
