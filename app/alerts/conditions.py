"""Which observations are worth an alert. Pure: observations and thresholds in, conditions out.

    models    calls of a model fail: at least `model_failures` within FAILURE_WINDOW_S, and FAILED_SHARE of the calls
    stuck     a session in progress is inactive for `stuck_s` and for more than USUAL_TIMES the step's median time
    budget    a budget is spent, or reserved for sessions in progress, to `budget_share`
    links     links to an open study lose ids: at least `link_problems`, LOST_SHARE of the arrivals, the last within
              LOST_WINDOW_S
    quota     an open study admits nobody, because its quotas are reached
    disk      a disk has less than `disk_free_bytes` and less than DISK_FREE_SHARE of its size free
    database  the database cannot be written

A failure that a participant's message brings about, such as a content filter's, is none of the model's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from experiments.session.conversation import REFUSED
from storage.registers.alerts import AlertKey

FAILURE_WINDOW_S = 600
FAILED_SHARE = 0.25
USUAL_TIMES = 3
LOST_WINDOW_S = 3_600
LOST_SHARE = 0.05
DISK_FREE_SHARE = 0.1
NOT_THE_SERVER = REFUSED | {"stopped", "leak"}
"""Reasons of failed calls that lie in a message, in the participant's wish, or in what a reply says."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When an observation is worth an alert; 0 switches a kind off."""

    model_failures: int
    stuck_s: float
    budget_share: float
    link_problems: int
    disk_free_bytes: float


@dataclass(frozen=True, slots=True)
class ModelCalls:
    """The recent calls of a model in the sessions of one origin."""

    study: str
    origin: str
    model: str
    calls: int
    reasons: Mapping[str, int]
    """The number of failed calls by reason."""


@dataclass(frozen=True, slots=True)
class InactiveSession:
    """A session in progress, by its number, with the step's median time if that is known."""

    study: str
    origin: str
    ordinal: int
    inactive_s: float
    usual_s: float | None = None


@dataclass(frozen=True, slots=True)
class BudgetLevel:
    """A budget of a study or of one of its conditions, and the part of it that is spent or reserved."""

    study: str
    condition: str
    budget: float
    committed: float
    currency: str


@dataclass(frozen=True, slots=True)
class LostIds:
    """Links to a study whose id was not taken: how many were refused, how many sessions `started` without it, and how
    many `sessions` people have started in all."""

    study: str
    refused: int
    started: int
    sessions: int


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk that has a folder."""

    folder: str
    free: int
    size: int


@dataclass(frozen=True, slots=True)
class Observations:
    """What was observed at a moment."""

    models: tuple[ModelCalls, ...] = ()
    inactive: tuple[InactiveSession, ...] = ()
    budgets: tuple[BudgetLevel, ...] = ()
    lost: tuple[LostIds, ...] = ()
    full: tuple[str, ...] = ()
    """The open studies whose quotas are reached."""
    disks: tuple[Disk, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that researchers are to be alerted to, with its figures."""

    key: AlertKey
    data: Mapping[str, Any] = field(default_factory=dict)


def conditions(observed: Observations, thresholds: Thresholds) -> tuple[Condition, ...]:
    """The conditions that hold, each with another key."""
    found = (
        *_models(observed, thresholds),
        *_stuck(observed, thresholds),
        *_budgets(observed, thresholds),
        *_links(observed, thresholds),
        *(Condition(AlertKey("quota", study)) for study in observed.full),
        *_disks(observed, thresholds),
    )
    return tuple({condition.key: condition for condition in found}.values())


def _models(observed: Observations, thresholds: Thresholds) -> Iterator[Condition]:
    for one in observed.models:
        reasons = {name: count for name, count in one.reasons.items() if name not in NOT_THE_SERVER}
        failed = sum(reasons.values())
        if thresholds.model_failures and failed >= max(thresholds.model_failures, FAILED_SHARE * one.calls):
            data = {"calls": one.calls, "failed": failed, "reasons": dict(sorted(reasons.items()))}
            yield Condition(AlertKey("models", one.study, one.origin, one.model), data)


def _stuck(observed: Observations, thresholds: Thresholds) -> Iterator[Condition]:
    by_study: dict[tuple[str, str], list[InactiveSession]] = {}
    for one in observed.inactive:
        if thresholds.stuck_s and one.inactive_s >= max(thresholds.stuck_s, USUAL_TIMES * (one.usual_s or 0)):
            by_study.setdefault((one.study, one.origin), []).append(one)
    for (study, origin), those in by_study.items():
        data = {"sessions": sorted(one.ordinal for one in those), "longest_s": max(one.inactive_s for one in those)}
        yield Condition(AlertKey("stuck", study, origin), data)


def _budgets(observed: Observations, thresholds: Thresholds) -> Iterator[Condition]:
    for one in observed.budgets:
        if thresholds.budget_share and 0 < thresholds.budget_share * one.budget <= one.committed:
            data = {"budget": one.budget, "committed": one.committed, "currency": one.currency}
            yield Condition(AlertKey("budget", one.study, "", one.condition), data)


def _links(observed: Observations, thresholds: Thresholds) -> Iterator[Condition]:
    for one in observed.lost:
        lost, arrivals = one.refused + one.started, one.refused + one.sessions
        if thresholds.link_problems and lost >= max(thresholds.link_problems, LOST_SHARE * arrivals):
            data = {"refused": one.refused, "started": one.started, "sessions": one.sessions}
            yield Condition(AlertKey("links", one.study), data)


def _disks(observed: Observations, thresholds: Thresholds) -> Iterator[Condition]:
    for disk in observed.disks:
        if disk.free < min(thresholds.disk_free_bytes, DISK_FREE_SHARE * disk.size):
            yield Condition(AlertKey("disk", subject=disk.folder), {"free": disk.free, "size": disk.size})
