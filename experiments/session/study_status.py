"""The status of a running study: events of the study's own stream, outside its hash, folded like those of a session.

    published {hash, version}  new sessions get this version
    budgeted {amount, where}   the most that model replies may cost; null for no limit
    capped {where, most}       the quota of participants; 0 admits no new ones, null removes the quota
    paused {why}               nobody new for now; people go on to their next waves
    closed {why}               no further sessions, of later waves neither
    archived {}                closed for good: it is listed apart, until it is opened or piloted again
    piloted {}                 new sessions are pilots: their data are marked
    opened {}                  new sessions are participants' own, and their data count
    described {dataset}        the publication metadata of the data; the last ones count, whatever the version
    preregistered {hash, version, files}  the plan was fixed; `files` are the SHA-256 of what was written, by name
    looked {number, who, through, why, complete, result}  somebody looked at an outcome before the end; `number` is
                               that of a planned look, null for any other
    explained {deviation, why}  the reason for a deviation from the plan
    offered {hash, set, tools, sha256}  the tools of a set as models are offered them, from the server as it was then
    differed {hash, set, sha256, tools}  the server of a set has other tools since, by name; the same again with none;
                               an empty sha256 if it cannot be reached

`where` are factors with their values; empty for all participants. Sessions in progress always continue.
A study without such events is open. If the first is `published`, nobody can start until it is piloted or opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from experiments.errors import NotPossible
from experiments.events import Data, Event
from experiments.study.sections.recruitment import Quota

StudyState = Literal["published", "pilot", "open", "paused", "closed"]
Decision = Literal[
    "published", "budgeted", "capped", "paused", "closed", "archived", "piloted", "opened", "described",
    "offered", "differed", "preregistered", "looked", "explained",
]  # fmt: skip
KINDS: tuple[Decision, ...] = get_args(Decision)
PLAN: tuple[Decision, ...] = ("preregistered", "looked", "explained")
ALWAYS: tuple[Decision, ...] = ("published", "budgeted", "capped", "described", "offered", "differed", *PLAN)
CHANGES: Mapping[StudyState, tuple[Decision, ...]] = {
    "published": ("piloted", "opened", "closed"),
    "pilot": ("opened", "paused", "closed"),
    "open": ("piloted", "paused", "closed"),
    "paused": ("opened", "piloted", "closed"),
    "closed": ("opened", "piloted", "archived"),
}
Where = tuple[tuple[str, str], ...]
EVERYBODY: Where = ()


@dataclass(frozen=True, slots=True)
class StudyStatus:
    budgets: Mapping[Where, float] = field(default_factory=dict)
    caps: Mapping[Where, int | None] = field(default_factory=dict)
    """The quotas that replace those of the study file; None for no quota."""
    paused: str | None = None
    closed: str | None = None
    pilot: bool = False
    published: str | None = None
    archived: bool = False
    decided: bool = False
    """True if the study was ever piloted, opened, paused or closed."""

    @property
    def state(self) -> StudyState:
        if self.closed is not None:
            return "closed"
        if self.paused is not None:
            return "paused"
        if self.published is not None and not self.decided:
            return "published"
        return "pilot" if self.pilot else "open"

    @property
    def allowed(self) -> tuple[Decision, ...]:
        """Decisions; a study open because nothing was decided can be opened too, so that publishing keeps it open."""
        first: tuple[Decision, ...] = () if self.decided or self.state != "open" else ("opened",)
        found = (*first, *CHANGES[self.state], *ALWAYS)
        return tuple(kind for kind in found if not (kind == "archived" and self.archived))

    @property
    def offered(self) -> bool:
        """True if a server that serves all studies has a start page for this one."""
        return self.published is not None and self.state != "published"

    @property
    def closed_reason(self) -> str | None:
        """The reason why no new sessions can start; None while they can."""
        said = self.paused if self.closed is None else self.closed
        return "not opened yet" if said is None and self.state == "published" else said

    @property
    def budget(self) -> float | None:
        return self.budgets.get(EVERYBODY)

    def quotas_of(self, quotas: Sequence[Quota]) -> tuple[Quota, ...]:
        """The quotas in force: those of the study file, replaced or removed by later decisions."""
        held: dict[Where, int | None] = {**{where_of(cap.where): cap.max for cap in quotas}, **self.caps}
        return tuple(Quota(where=dict(where), max=most) for where, most in held.items() if most is not None)


def where_of(values: Mapping[str, str]) -> Where:
    return tuple(sorted(values.items()))


def refuse_unfit(study: str, status: StudyStatus, decision: Decision) -> None:
    if decision not in status.allowed:
        state = "a pilot" if status.state == "pilot" else status.state
        raise NotPossible(
            f"{study} is {state}, and cannot be {decision}; it can be {' or '.join(CHANGES[status.state])}."
        )


def _budgets(known: Mapping[Where, float], data: Data) -> dict[Where, float]:
    where = where_of(data.get("where", {}))
    others = {other: amount for other, amount in known.items() if other != where}
    return others if data["amount"] is None else {**others, where: data["amount"]}


def fold_operations(events: Iterable[Event]) -> StudyStatus:
    """The status after these events of a study's stream. Events of imports are ignored."""
    now = StudyStatus()
    for event in events:
        match event.kind:
            case "budgeted":
                now = replace(now, budgets=_budgets(now.budgets, event.data))
            case "capped":
                now = replace(now, caps={**now.caps, where_of(event.data["where"]): event.data["most"]})
            case "published":
                now = replace(now, published=event.data["hash"])
            case "paused" | "closed":
                now = replace(now, decided=True, **{event.kind: event.data["why"]})
            case "archived":
                now = replace(now, archived=True)
            case "piloted" | "opened":
                pilot = event.kind == "piloted"
                now = replace(now, paused=None, closed=None, archived=False, pilot=pilot, decided=True)
            case _:
                pass
    return now
