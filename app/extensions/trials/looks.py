"""Looks at the outcomes of a trial before its end: planned ones, and who else looked.

A planned look is possible once its share of the participants has completed. It compares each primary hypothesis with
the boundary that the plan's spending gives at the share that has completed by then (Lan and DeMets 1983); several
primary hypotheses share alpha equally (Bonferroni). Until the last look, groups are called A and B in an order that the
server's secret decides; advice to stop, or a very small p, tells which is which where a hypothesis has a direction.
Every other look at outcomes before the end is recorded as unplanned.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import isfinite
from statistics import NormalDist

from app.errors import TrialError
from app.extensions.trials.estimator import p_of, shown, sides
from app.extensions.trials.outcome_lock import next_look, planned_study
from app.extensions.trials.outcomes import TrialData, estimated, read_trial
from app.extensions.trials.populations import intention_to_treat
from app.extensions.trials.reads.plan_events import RecordedLook, complete_people, plan_events, record_look
from app.extensions.trials.sequential import Monitor, monitor, sequence_width
from experiments.study.sections.plan import FEWEST_IN_A_GROUP, Hypothesis, Plan, PlannedContrast
from storage.db.engine import Database
from storage.registers.origins import Origin

LATER = "Nothing is recorded. Take the look when more have completed: its boundary is that of their share."


@dataclass(frozen=True, slots=True)
class LookResult:
    """The result of a look at a hypothesis: an effect (treatment minus control, or A minus B), its interval over all
    looks together, p and the p of the boundary; `crossed` advises to stop. A blinded look has a two-sided p and no
    boundary, and a confidence sequence has no boundary."""

    hypothesis: str
    claim: str
    effect: float
    low: float
    high: float
    p: float
    boundary: float | None
    crossed: bool
    participants: int
    sides: int
    """Of p."""


def look(
    database: Database, study: str, who: str, now_us: int, *, secret: str, unblind: bool = False
) -> tuple[RecordedLook, tuple[LookResult, ...]]:
    """Take the next planned look, and record it with its results. The `secret` decides which group is A. Raises
    TrialError if the study is not preregistered, no look is planned, or too few participants have completed;
    NotPossible if somebody else takes it at the same time."""
    recorded = plan_events(database, study)
    planned = planned_study(database, study, recorded)
    if planned is None:
        raise TrialError(
            f"{study} is not preregistered, so no look is planned: `parley trial preregister {study} --record`."
        )
    plan = planned.file.plan
    due = next_look(plan, recorded.looks) if plan is not None else None
    if plan is None or plan.looks is None or plan.participants is None or due is None:
        raise TrialError(f"The plan of {study} has no further look. The results are in the report, at the end.")
    complete = complete_people(database, study)
    if complete < due.needs:
        raise TrialError(
            f"Look {due.number} of {study} is planned at {due.needs:,} complete participants; {complete:,} have "
            "completed. An earlier look would be unplanned: "
            f"`parley report {study} --peek REASON` records it."
        )
    data = read_trial(database, study, Origin.PERSON, plan)
    blind = plan.looks.blinded and not unblind and complete < plan.participants
    shares = _shares(plan, recorded.looks)
    shares = (*shares, max((*shares, min(1.0, complete / plan.participants))))
    key = secret if blind else ""
    found = tuple(_result(data, plan, one, shares, f"{key} {planned.hash}" if key else "") for one in plan.primary)
    result = {
        "blinded": blind,
        "stop": all(one.crossed for one in found),
        "hypotheses": [
            {
                "id": one.hypothesis,
                "effect": one.effect,
                "low": one.low if isfinite(one.low) else None,
                "high": one.high if isfinite(one.high) else None,
                "p": one.p,
                "sides": one.sides,
                "boundary": one.boundary,
                "crossed": one.crossed,
            }
            for one in found
        ],
    }
    why = "unblinded" if plan.looks.blinded and not blind and complete < plan.participants else ""
    taken = RecordedLook(now_us, due.number, who, "look", why, complete, result)
    record_look(database, study, taken)
    return taken, found


def nominal_alpha(
    plan: Plan, hypothesis: Hypothesis, looks: Sequence[RecordedLook], complete: int | None = None
) -> float:
    """The level at which the last analysis tests a hypothesis: the alpha that the looks before have left. `complete`
    participants may be fewer than planned; then it has the boundary of a look at their share, and not all that is left,
    as the end may have been chosen by what was seen. With looks, the primary hypotheses share alpha equally."""
    if plan.looks is None or hypothesis.role != "primary":
        return hypothesis.alpha
    taken = tuple(share for share in _shares(plan, looks) if share < 1)
    now = 1.0 if complete is None or plan.participants is None else min(1.0, complete / plan.participants)
    if not (now := max((now, *taken))):
        return 0.0
    watch, at = _monitor(plan, hypothesis, tuple(dict.fromkeys((*taken, now))))
    if watch.bounds is not None:
        return watch.bounds.nominal[at]
    return sides(hypothesis.direction) * (1 - NormalDist().cdf(sequence_width(now, watch.alpha)))


def _monitor(plan: Plan, hypothesis: Hypothesis, shares: tuple[float, ...]) -> tuple[Monitor, int]:
    """The monitor of a primary hypothesis at the last of rising shares, and the number of that look."""
    alpha = hypothesis.alpha / len(plan.primary)
    times = shares if shares[-1] == 1 else (*shares, 1.0)
    return monitor(plan.looks, alpha, sides(hypothesis.direction), times), len(shares) - 1


def _shares(plan: Plan, looks: Sequence[RecordedLook]) -> tuple[float, ...]:
    """The shares of the participants at the planned looks that were taken, rising: exclusions take nothing back."""
    wanted = plan.participants or 1
    found = (min(1.0, one.complete / wanted) for one in looks if one.number is not None)
    return tuple(dict.fromkeys(accumulate(found, max)))


def _result(data: TrialData, plan: Plan, hypothesis: Hypothesis, shares: Sequence[float], key: str) -> LookResult:
    """The result for a hypothesis; the last of the shares is that of now. With a `key` it is blinded."""
    over = {one.session for one in data.sessions if one.outcome}
    sessions = frozenset(over & intention_to_treat(data, hypothesis.contrast))
    try:
        found, _ = estimated(data, hypothesis, sessions)
    except TrialError as error:
        raise TrialError(f"{hypothesis.id}: {error} {LATER}") from None
    if found.fewest < FEWEST_IN_A_GROUP:
        raise TrialError(
            f"{hypothesis.id}: a group has {found.fewest} participants with a value, and below {FEWEST_IN_A_GROUP} p "
            f"values do not hold. {LATER}"
        )
    watch, at = _monitor(plan, hypothesis, tuple(dict.fromkeys(shares)))
    low, high = watch.interval(found, at)
    crossed = shown(low, high, hypothesis.direction, hypothesis.margin)
    p = p_of(found, hypothesis.direction, hypothesis.margin)
    boundary = watch.bounds.nominal[at] if watch.bounds is not None else None
    sign = -1 if key and _first(hypothesis.contrast, key) == hypothesis.contrast.control else 1
    ends = sorted((sign * low, sign * high))
    seen = (found.p, None) if key else (p, boundary)  # a one-sided p would tell which group is A
    name, claim, people = hypothesis.id, hypothesis.claim, len(sessions)
    of_p = 2 if key else sides(hypothesis.direction)
    return LookResult(name, claim, sign * found.estimate, ends[0], ends[1], *seen, crossed, people, of_p)


def _first(contrast: PlannedContrast, key: str) -> str:
    """Choose the group that is A: the same for all hypotheses about the two, and unknown without the key."""
    groups = sorted((contrast.treatment, contrast.control))
    digest = hmac.digest(key.encode(), "\n".join((contrast.factor, *groups)).encode(), "sha256")
    return groups[digest[0] % 2]
