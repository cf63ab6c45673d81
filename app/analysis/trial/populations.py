"""Who is analysed: everybody as assigned (intention to treat), or without the sessions that the plan excludes (per
protocol).

Both are decided from how a session went, never from its outcome. A session counts under the first rule of the plan that
leaves it out. Withdrawn participants are erased and in neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from app.analysis.trial.deviations import INTEGRITY
from app.analysis.trial.outcomes import TrialData, TrialSession
from experiments.study.sections.plan import Plan, PlannedContrast

RULES: Mapping[str, str] = MappingProxyType(
    {
        "failed_attention": "failed an attention check",
        "too_fast": "completed the study too fast",
        "integrity": "were excluded by a researcher for integrity",
        "timed_out": "ran out of time",
        "technical_failure": "ended for a technical failure",
        "incomplete": "did not complete the study",
    }
)
"""The exclusion rules of a plan, each in words."""


@dataclass(frozen=True, slots=True)
class Population:
    """The sessions of a population, and how many the plan's rules leave out of it, by rule."""

    sessions: frozenset[str]
    left_out: Mapping[str, int]


def intention_to_treat(data: TrialData, contrast: PlannedContrast) -> Population:
    """Everybody in the comparison whose data are not erased, as assigned."""
    return Population(frozenset(one.session for one in data.sessions if one.assigned(contrast)), {})


def per_protocol(data: TrialData, contrast: PlannedContrast, rules: Sequence[str] | None = None) -> Population:
    """Those in the comparison whom no rule leaves out: the plan's rules, or some of them."""
    chosen = data.plan.exclude if rules is None else rules
    among = [one for one in data.sessions if one.assigned(contrast)]
    why = {one.session: broken(one, data.plan, chosen) for one in among}
    counts = Counter(rule for rule in why.values() if rule)
    return Population(
        frozenset(session for session, rule in why.items() if not rule),
        {rule: counts[rule] for rule in chosen if counts[rule]},
    )


def broken(one: TrialSession, plan: Plan, rules: Iterable[str]) -> str:
    """The first rule that leaves a session out; empty if none does."""
    return next((rule for rule in rules if _BROKEN[rule](one, plan)), "")


def excluded_otherwise(one: TrialSession) -> bool:
    """Whether a researcher excluded a session for a reason that no plan can name."""
    return one.excluded is not None and not _for_integrity(one)


def _for_integrity(one: TrialSession) -> bool:
    return one.excluded is not None and one.excluded.lower().startswith(INTEGRITY)


def _too_fast(one: TrialSession, plan: Plan) -> bool:
    return one.complete and plan.fastest_seconds is not None and one.seconds < plan.fastest_seconds


_BROKEN: Mapping[str, Callable[[TrialSession, Plan], bool]] = MappingProxyType(
    {
        "failed_attention": lambda one, _: one.failed_attention,
        "too_fast": _too_fast,
        "integrity": lambda one, _: _for_integrity(one),
        "timed_out": lambda one, _: one.outcome == "timed_out",
        "technical_failure": lambda one, _: one.outcome == "technical_failure",
        "incomplete": lambda one, _: not one.complete,
    }
)
