"""The planned results of a trial: each hypothesis estimated and tested as its plan says, in both populations.

The confirmatory result is that of the intention-to-treat population, with p corrected within the hypothesis' family;
a hypothesis without an estimate counts in its family with p = 1. Per-protocol results, and those with other exclusions,
show how far it depends on who is analysed; they are not corrected and decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from app.errors import TrialError
from app.extensions.analysis.estimates import NUMBER, POINTS, SHARE, Estimate, Finding, Unit, estimate, format_value
from app.extensions.analysis.intervals import Interval
from app.extensions.trials.estimator import Difference, adjusted, level_of, p_of, sides
from app.extensions.trials.looks import nominal_alpha
from app.extensions.trials.outcomes import TrialData, estimated, read_trial
from app.extensions.trials.populations import excluded_otherwise, intention_to_treat, per_protocol
from app.extensions.trials.reads.plan_events import RecordedLook, plan_events
from app.extensions.trials.wording import ESTIMATOR, PAIRED, RULES, outcome_words
from experiments.study.sections.plan import FEWEST_IN_A_GROUP, STEP, Hypothesis, Plan
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.origins import Origin

# Patterns of all estimates' names, with their descriptions.
NAMES: Mapping[str, str] = {
    "trial.difference.<id>": (
        "the effect of a planned hypothesis: treatment minus control, of everybody as assigned (intention "
        "to treat), with the interval of its test; `further` has p, its `sides`, the raw means and their difference"
    ),
    "trial.per_protocol.<id>": "the same, without the sessions that the plan excludes",
    "trial.sensitivity.<id>.<rule>": (
        "the effect per protocol if one exclusion rule is not applied; `other_exclusions`: of everybody as "
        "assigned, without the sessions that a researcher excluded for a reason that the plan does not name"
    ),
}
OTHERS = "other_exclusions"
SPENT = "The looks have left nothing of alpha for a test at this time."


@dataclass(frozen=True, slots=True)
class HypothesisResult:
    """A hypothesis with its results. `found` is None without an estimate; `why` then has the reason."""

    hypothesis: Hypothesis
    found: Difference | None
    why: str
    p: float | None
    p_adjusted: float | None
    """p corrected for the other hypotheses of the family; None if it is alone, or shares alpha over looks."""
    alpha: float
    """The level at which p is tested at the end: the plan's alpha, or the part that looks have left."""
    confirmed: bool = False
    low: float = 0.0
    """The interval that belongs to the test, of `level`."""
    high: float = 0.0
    level: float = 0.0
    people: int = 0
    """The participants analysed: those of the population with the outcome and the covariates."""
    decision: str = ""
    """The conclusion that the test allows, and no more."""
    finding: Finding | None = None

    @property
    def too_few(self) -> bool:
        return self.found is not None and self.found.fewest < FEWEST_IN_A_GROUP


def trial_findings(database: Database, study: Study, origin: str) -> tuple[Finding, ...]:
    if study.file.plan is None:
        return ()
    data = read_trial(database, study.name, origin, study.file.plan)
    if origin != Origin.PERSON:
        return findings(trial_results(data))
    complete = sum(one.complete and one.excluded is None for one in data.sessions)
    return findings(trial_results(data, plan_events(database, study.name).looks, complete))


def trial_results(
    data: TrialData, looks: Sequence[RecordedLook] = (), complete: int | None = None
) -> tuple[HypothesisResult, ...]:
    """Results in the order of the plan; `looks` were taken, `complete` participants may be fewer than planned."""
    tested = [_tested(data, one, intention_to_treat(data, one.contrast)) for one in data.plan.hypotheses]
    corrected = dict(_adjusted(data.plan, tested))
    return tuple(_whole(data, one, corrected.get(one.hypothesis.id), looks, complete) for one in tested)


def findings(results: Iterable[HypothesisResult]) -> tuple[Finding, ...]:
    return tuple(one.finding for one in results if one.finding is not None)


@dataclass(frozen=True, slots=True)
class _Tested:
    hypothesis: Hypothesis
    found: Difference | None
    people: int = 0
    why: str = ""
    p: float = 1.0


def _tested(data: TrialData, hypothesis: Hypothesis, sessions: frozenset[str]) -> _Tested:
    try:
        found, people = estimated(data, hypothesis, sessions)
    except TrialError as error:
        return _Tested(hypothesis, None, why=str(error))
    return _Tested(hypothesis, found, people, "", p_of(found, hypothesis.direction, hypothesis.margin))


def _adjusted(plan: Plan, tested: Sequence[_Tested]) -> Iterator[tuple[str, float]]:
    for family in dict.fromkeys(one.hypothesis.family for one in tested):
        together = plan.corrected(family)
        members = [one for one in tested if one.hypothesis in together]
        if len(members) > 1:
            found = adjusted([one.p for one in members], plan.correction(family))
            yield from zip((one.hypothesis.id for one in members), found, strict=True)


def _whole(
    data: TrialData, tested: _Tested, corrected: float | None, looks: Sequence[RecordedLook], complete: int | None
) -> HypothesisResult:
    one, found = tested.hypothesis, tested.found
    alpha = nominal_alpha(data.plan, one, looks, complete)
    if found is None:
        result = HypothesisResult(one, None, tested.why, None, None, alpha)
        return replace(result, decision=_decision(result))
    level = level_of(one.direction, alpha)
    low, high = found.interval(level)
    confirmed = (tested.p if corrected is None else corrected) <= alpha and found.fewest >= FEWEST_IN_A_GROUP
    known = (confirmed, low, high, level, tested.people)
    result = HypothesisResult(one, found, "", tested.p, corrected, alpha, *known)
    result = replace(result, decision=_decision(result))
    return replace(result, finding=_finding(data, result, found))


def _decision(result: HypothesisResult) -> str:
    one, contrast = result.hypothesis, result.hypothesis.contrast
    if result.found is None:
        return f"There is no estimate, so nothing can be concluded. {result.why}"
    if result.too_few:
        return (
            f"Nothing is concluded: a group has {result.found.fewest} participants, and p values and intervals do not "
            f"hold below {FEWEST_IN_A_GROUP}."
        )
    which, margin = f"{contrast.treatment} minus {contrast.control}", format_value(one.margin, unit_of(one))
    claims = {
        "greater": f"that the difference ({which}) is above 0",
        "less": f"that the difference ({which}) is below 0",
        "different": f"that the difference ({which}) is not 0",
        "equivalent": f"that the difference ({which}) is within {margin} of 0",
        "not_worse": f"that the difference ({which}) is above −{margin}",
    }
    if result.confirmed:
        return f"The data show {claims[one.direction]}.{_smallest(result)}"
    opposite = (
        "This is no evidence of a difference."
        if one.direction in ("equivalent", "not_worse")
        else "This is no evidence that there is no difference."
    )
    return f"The data do not show {claims[one.direction]}. {opposite}"


def _smallest(result: HypothesisResult) -> str:
    """The relation of a shown effect to the smallest of interest; empty without one, or if p is corrected."""
    smallest, one = result.hypothesis.smallest_effect, result.hypothesis
    if smallest is None or result.p_adjusted is not None or one.direction in ("equivalent", "not_worse"):
        return ""
    words = f"the smallest effect of interest ({format_value(smallest, unit_of(one))})"
    if result.low >= smallest or result.high <= -smallest:
        return f" They also show that it is at least {words}."
    return f" Whether it is at least {words} is not shown."


def unit_of(hypothesis: Hypothesis) -> Unit:
    """The unit of an effect: percentage points for `correct`, otherwise the outcome's own."""
    return POINTS if hypothesis.outcome == "correct" else NUMBER


def _finding(data: TrialData, result: HypothesisResult, difference: Difference) -> Finding:
    one = result.hypothesis
    further = {"p": result.p if result.p is not None else 1.0, "alpha": result.alpha}
    further |= {"p_adjusted": result.p_adjusted} if result.p_adjusted is not None else {}
    further |= {"sides": sides(one.direction)}
    if difference.raw is not None:
        treatment, control = difference.raw
        further |= {"raw_treatment": treatment, "raw_control": control, "raw_difference": treatment - control}
    further |= {name: value for name in ("smallest_effect", "margin") if (value := getattr(one, name)) is not None}
    main = _estimate(
        one, f"trial.difference.{one.id}", "Intention to treat", difference, result.people, result.level, further
    )
    every = (main, *_others(data, one, result.level))
    return Finding(
        name=f"trial.{one.id}",
        title=f"Hypothesis {one.id}: {one.claim}",
        counts=_counts(one),
        unit=unit_of(one),
        axis=_axis(every),
        estimates=every,
        method=PAIRED if one.contrast.factor == STEP else ESTIMATOR,
        code="trial_findings(database, study, origin)",
        reference=0.0,
        note=f"{raw_words(result)} {result.decision}",
    )


def _counts(hypothesis: Hypothesis) -> str:
    return {"correct": "answers", "answer": "answers", "error": "answers", "confidence": "answers"}.get(
        hypothesis.outcome, "ratings" if hypothesis.outcome.startswith("rating.") else "values"
    )


def raw_means(result: HypothesisResult) -> tuple[str, str]:
    """The plain means of treatment and control, and their difference, which nothing adjusts."""
    if result.found is None or result.found.raw is None:
        return "–", "–"
    treatment, control = result.found.raw
    unit: Unit = SHARE if result.hypothesis.outcome == "correct" else NUMBER
    means = f"{format_value(treatment, unit)} and {format_value(control, unit)}"
    return means, format_value(treatment - control, unit_of(result.hypothesis))


def raw_words(result: HypothesisResult) -> str:
    contrast, (means, difference) = result.hypothesis.contrast, raw_means(result)
    if result.found is None:
        return ""
    return f"Raw means of {contrast.treatment} and {contrast.control}: {means}; raw difference {difference}."


def _others(data: TrialData, hypothesis: Hypothesis, level: float) -> Iterator[Estimate]:
    for name, label, sessions in _populations(data, hypothesis):
        try:
            found, people = estimated(data, hypothesis, sessions)
        except TrialError:
            continue
        yield _estimate(hypothesis, name, label, found, people, level, {})


def _populations(data: TrialData, hypothesis: Hypothesis) -> Iterator[tuple[str, str, frozenset[str]]]:
    contrast, rules = hypothesis.contrast, data.plan.exclude
    yield f"trial.per_protocol.{hypothesis.id}", "Per protocol", per_protocol(data, contrast)
    for rule in rules if len(rules) > 1 else ():
        others = tuple(other for other in rules if other != rule)
        label = f"Per protocol, with those who {RULES[rule]}"
        yield f"trial.sensitivity.{hypothesis.id}.{rule}", label, per_protocol(data, contrast, others)
    everybody = intention_to_treat(data, contrast)
    odd = frozenset(session.session for session in data.sessions if excluded_otherwise(session))
    if odd & everybody:
        label = "Without all sessions that a researcher excluded"
        yield f"trial.sensitivity.{hypothesis.id}.{OTHERS}", label, everybody - odd


def _axis(estimates: Sequence[Estimate]) -> tuple[float, float]:
    ends = [0.0, *(end for one in estimates for end in (one.low, one.high) if end is not None)]
    edge = (max(ends) - min(ends)) / 20
    return min(ends) - edge, max(ends) + edge


def _estimate(
    hypothesis: Hypothesis,
    name: str,
    label: str,
    difference: Difference,
    people: int,
    level: float,
    further: Mapping[str, float],
) -> Estimate:
    low, high = difference.interval(level)
    known = isfinite(low)
    interval = (
        Interval(difference.estimate, low, high, level=level) if known else Interval(difference.estimate, why=SPENT)
    )
    contrast = hypothesis.contrast
    said = f"{label}: {outcome_words(hypothesis.outcome)}, {contrast.treatment} minus {contrast.control}: {{}}"
    figure = (name, label, {"population": label}, (difference.n, people), interval)
    return estimate(*figure, said, unit_of(hypothesis), _counts(hypothesis), further=further)
