"""Errors and warnings of a trial's plan: measures that the study lacks, contradictions, and vague parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil

from experiments.errors import ValidationIssue, suggestion
from experiments.study.cells import cells, factor_values
from experiments.study.fields import ChoiceField, Field, MultipleChoiceField, Number, Slider
from experiments.study.problem_answer import ANSWER_CONFIDENCE
from experiments.study.schema import ByFactor, Loop, Node, Phase
from experiments.study.sections.ai_alone import ATTENTION
from experiments.study.sections.plan import FEWEST_IN_A_GROUP, STEP, Hypothesis, Plan, PlannedContrast
from experiments.study.step import Step
from experiments.study.study import PlacedStep, Study
from problems.problem import Problem

# From this number of primary hypotheses in a family without a correction on, a false one is likely.
MANY_PRIMARY = 3
RIGHT = "correct"
# The questions that the outcome `confidence` is about: with an answer, before a problem in points, and in words.
CONFIDENCES = (ANSWER_CONFIDENCE, "confidence_points", "confidence")


@dataclass(frozen=True, slots=True)
class RecordedOutcome:
    name: str
    step: str
    numeric: bool


def plan_faults(study: Study) -> Iterator[ValidationIssue]:
    plan = study.file.plan
    if plan is None:
        return
    recorded = tuple(recorded_outcomes(study))
    for number, one in enumerate(plan.hypotheses):
        at = f"plan.hypotheses[{number}]"
        yield from _contrast(study, one, f"{at}.contrast")
        yield from _outcome(study, one, recorded, at)
        if one.margin is not None and one.smallest_effect is not None and one.smallest_effect > one.margin:
            yield ValidationIssue(
                f"{at}.smallest_effect",
                f"{one.smallest_effect:g} is more than the margin {one.margin:g}: an effect of interest would count as "
                "equivalent. Make it smaller, or the margin larger",
            )
    yield from _whole(study, plan)
    yield from _covariates(study, plan)


def plan_advice(study: Study) -> Iterator[str]:
    plan = study.file.plan
    if plan is None:
        return
    for number, one in enumerate(plan.hypotheses):
        if one.role == "primary" and one.smallest_effect is None and one.margin is None:
            yield (
                f"plan.hypotheses[{number}].smallest_effect: {one.id!r} does not say which effect would matter. "
                "Without it there is no power to compute, and a result can only be told from zero."
            )
    for family, many in Counter(one.family for one in plan.primary).items():
        if many >= MANY_PRIMARY and plan.correction(family) == "none":
            yield (
                f"plan.corrections.{family}: {many} primary hypotheses are tested without a correction for their "
                "number. Write `holm`, or make some of them secondary."
            )
    yield from _too_few(study, plan)


def _too_few(study: Study, plan: Plan) -> Iterator[str]:
    """The analyses at which a group is too small to conclude anything."""
    at = plan.looks.at if plan.looks is not None else (1.0,)
    for number, share in enumerate(at if plan.participants is not None else ()):
        there = ceil(share * (plan.participants or 0))
        groups = (_smaller_group(study, one.contrast) for one in (plan.hypotheses if share == 1 else plan.primary))
        if found := next((one for one in groups if round(there * one[1], 6) < FEWEST_IN_A_GROUP), None):
            group, part = found
            where = "plan.participants" if share == 1 else f"plan.looks.at[{number}]"
            remedy = "Plan" if share == 1 else "`parley trial look` refuses it until then: plan the look at"
            enough = f"{remedy} {ceil(FEWEST_IN_A_GROUP / part)} participants or more." if part else "Give it a weight."
            yield (
                f"{where}: of {there} participants about {there * part:g} are {group}, and nothing is concluded where "
                f"fewer than {FEWEST_IN_A_GROUP} are. {enough}"
            )


def _smaller_group(study: Study, contrast: PlannedContrast) -> tuple[str, float]:
    """The smaller group of a contrast in words, and its share of the participants; all, if they are in both groups."""
    if contrast.factor not in study.factors:
        return "compared", 1.0
    shares = {
        value: sum(cell.weight for cell in cells(study.factors, study.pools) if cell.values[contrast.factor] == value)
        for value in (contrast.treatment, contrast.control)
    }
    value = min(shares, key=lambda one: shares[one])
    return f"in the group {value!r}", shares[value]


def recorded_outcomes(study: Study) -> Iterator[RecordedOutcome]:
    """The outcomes of a study, by the steps that record them; `seconds` is that of each session."""
    yield RecordedOutcome("seconds", "", numeric=True)
    for placed in study.placed_steps:
        if (step := placed.step).step != "check":
            counting = (one for one in _pool(study, placed) if one.dataset != ATTENTION)
            yield from _answers(step, right=any(problem.answer is not None for problem in counting))
            yield from (RecordedOutcome(name, step.id, is_numeric(field)) for name, field in _asked(step))
            yield from (RecordedOutcome(name, step.id, numeric=True) for name in _scores(study, step))


def _answers(step: Step, *, right: bool) -> Iterator[RecordedOutcome]:
    """The outcomes of a problem's answer; `right` says whether any right one is known."""
    if "answer" in step.provides() and "problem" in step.requires():
        numbers = "options" not in step.requires()
        yield RecordedOutcome("answer", step.id, numeric=numbers)
        if right:
            yield RecordedOutcome(RIGHT, step.id, numeric=True)
            yield RecordedOutcome("error", step.id, numeric=numbers)


def _asked(step: Step) -> Iterator[tuple[str, Field]]:
    for field in step.questions_asked():
        if field.name in CONFIDENCES:
            yield "confidence", field
        if step.step == "survey":
            yield f"survey.{field.name}", field
        elif type(step).rates is not Step.rates and field.name not in ("answer", *CONFIDENCES):
            yield f"rating.{field.name}", field


def is_numeric(field: Field) -> bool:
    if isinstance(field, Number | Slider):
        return True
    if not isinstance(field, ChoiceField) or isinstance(field, MultipleChoiceField):
        return False
    return all(key.lstrip("-").isdigit() or "{{" in key for key in field.options)


def _pool(study: Study, placed: PlacedStep) -> tuple[Problem, ...]:
    return study.pools.get(placed.turn.pool, ()) if placed.turn else ()


def _scores(study: Study, step: Step) -> Iterator[str]:
    used = {getattr(field, "instrument", "") for field in step.questions_asked()}
    for name, instrument in study.instruments.items():
        if name in used:
            yield from (f"score.{name}.{score.name}" for score in instrument.scores)


def values_to_compare(study: Study) -> Mapping[str, tuple[str, ...]]:
    """The subjects of contrasts: the factors and what loops vary, each with its values; and the ids of steps."""
    found: dict[str, tuple[str, ...]] = {
        name: factor_values(factor, study.pools) for name, factor in study.file.factors.items()
    }
    for loop in study.loops:
        for name, values in loop.vary.items():
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), *values)))
    return found | {STEP: tuple(dict.fromkeys(step.id for _, step in study.steps))}


def _contrast(study: Study, hypothesis: Hypothesis, at: str) -> Iterator[ValidationIssue]:
    known, named = values_to_compare(study), hypothesis.contrast
    if named.factor not in known:
        yield ValidationIssue(f"{at}.factor", f"{named.factor!r} is not a factor{suggestion(named.factor, known)}")
        return
    what = "the id of a step" if named.factor == STEP else f"a value of {named.factor}"
    for key in ("treatment", "control"):
        value = getattr(named, key)
        if value not in known[named.factor]:
            yield ValidationIssue(f"{at}.{key}", f"{value!r} is not {what}{suggestion(value, known[named.factor])}")


def _outcome(
    study: Study, hypothesis: Hypothesis, recorded: Sequence[RecordedOutcome], at: str
) -> Iterator[ValidationIssue]:
    at, known = f"{at}.outcome", values_to_compare(study)[STEP]
    found = [made for made in recorded if made.name == hypothesis.outcome]
    if not found:
        why = _why_not(hypothesis.outcome, recorded)
        usable = {made.name for made in recorded if made.numeric}
        yield ValidationIssue(
            at, f"the study does not record {hypothesis.outcome!r}{why}{suggestion(hypothesis.outcome, usable)}"
        )
        return
    if not all(made.numeric for made in found):
        where = next(made.step for made in found if not made.numeric)
        usable = {made.name for made in recorded if made.numeric}
        words = f"{hypothesis.outcome!r} is not a number at the step {where!r}; only numbers can be compared"
        yield ValidationIssue(at, f"{words}{suggestion(hypothesis.outcome, usable)}")
    steps = {made.step for made in found}
    if hypothesis.contrast.factor != STEP:
        name = hypothesis.contrast.factor
        inside = {
            step.id
            for _, step, above in study.placed_steps
            if any(isinstance(node, Loop) and name in node.vary for node in above)
        }
        if inside and hypothesis.contrast.factor not in study.file.factors and not steps & inside:
            usable = {made.name for made in recorded if made.numeric and made.step in inside}
            words = f"{hypothesis.outcome!r} is not recorded in the loop that varies {hypothesis.contrast.factor}"
            yield ValidationIssue(at, f"{words}{suggestion(hypothesis.outcome, usable)}")
        return
    for key in ("treatment", "control"):
        value = getattr(hypothesis.contrast, key)
        if value in known and value not in steps:
            allowed = suggestion(value, steps - {""})
            yield ValidationIssue(at, f"{hypothesis.outcome!r} is not recorded at the step {value!r}{allowed}")


def _why_not(outcome: str, recorded: Sequence[RecordedOutcome]) -> str:
    if outcome in (RIGHT, "error") and any(made.name == "answer" for made in recorded):
        return ": no problem of its pools has a known right answer"
    return ""


def _whole(study: Study, plan: Plan) -> Iterator[ValidationIssue]:
    families = tuple(dict.fromkeys(one.family for one in plan.hypotheses))
    for family in plan.corrections:
        if family not in families:
            yield ValidationIssue(
                f"plan.corrections.{family}", f"no hypothesis has the family {family!r}{suggestion(family, families)}"
            )
    if not plan.primary:
        yield ValidationIssue(
            "plan.hypotheses",
            "there is no primary hypothesis; give the one on which the conclusion rests `role: primary`",
        )
    yield from _power(plan)
    yield from _looks(plan)
    yield from _missing(plan)
    yield from _exclusions(study, plan)


def _power(plan: Plan) -> Iterator[ValidationIssue]:
    for number, one in enumerate(plan.hypotheses):
        aimed = one.smallest_effect is not None or one.margin is not None
        if plan.power is not None and one.role == "primary" and not aimed:
            yield ValidationIssue(
                f"plan.hypotheses[{number}].smallest_effect",
                f"is missing: `power: {plan.power:g}` is wanted for each primary hypothesis at its smallest effect",
            )


def _looks(plan: Plan) -> Iterator[ValidationIssue]:
    interim = plan.looks is not None and len(plan.looks.at) > 1
    for one in plan.primary if interim else ():
        if one.direction == "equivalent":
            yield ValidationIssue(
                "plan.looks",
                f"interim looks have boundaries for a difference, and {one.id!r} is about equivalence. Leave `looks` "
                "out, or choose another direction",
            )


def _missing(plan: Plan) -> Iterator[ValidationIssue]:
    for number, one in enumerate(plan.hypotheses):
        if plan.missing == "worst-case" and one.outcome != RIGHT:
            yield ValidationIssue(
                "plan.missing",
                "`worst-case` counts a participant without any answer as all wrong, and "
                f"plan.hypotheses[{number}] is about {one.outcome!r}, which has no wrong answer; allowed there: "
                "complete-cases",
            )


def _exclusions(study: Study, plan: Plan) -> Iterator[ValidationIssue]:
    checked = any(
        _is_attention(placed.step) or any(problem.dataset == ATTENTION for problem in _pool(study, placed))
        for placed in study.placed_steps
    )
    if "failed_attention" in plan.exclude and not checked:
        yield ValidationIssue(
            f"plan.exclude[{plan.exclude.index('failed_attention')}]",
            "the study has no attention check, so nobody can fail one. Add `{step: check, kind: attention, ...}` or "
            f"problems of the dataset {ATTENTION}, or leave it out",
        )

    if "off_protocol" in plan.exclude and not study.file.fidelity:
        yield ValidationIssue(
            f"plan.exclude[{plan.exclude.index('off_protocol')}]",
            "the study has no `fidelity` rules that a reply could break. Add some, or leave it out",
        )


def _is_attention(step: Step) -> bool:
    return step.step == "check" and getattr(step, "kind", "") == "attention"


def _covariates(study: Study, plan: Plan) -> Iterator[ValidationIssue]:
    before = _asked_before(study, plan)
    after = {field.name for _, step in study.steps if step.step == "survey" for field in step.questions_asked()}
    usable = [name for name, numeric in before.items() if numeric]
    for number, name in enumerate(plan.covariates):
        at = f"plan.covariates[{number}]"
        if name not in before:
            late = (
                "is asked only after the treatment has begun, or in a loop"
                if name in after
                else "is asked by no survey"
            )
            yield ValidationIssue(at, f"{name!r} {late}; a covariate must be known before{suggestion(name, usable)}")
        elif not before[name]:
            yield ValidationIssue(at, f"the answers to {name!r} are not numbers{suggestion(name, usable)}")


def _asked_before(study: Study, plan: Plan) -> Mapping[str, bool]:
    """Questions of surveys before the first chat or part that depends on a contrast; True if answers are numbers."""
    contrasts = [one.contrast for one in plan.hypotheses]
    treated = {one.factor for one in contrasts if one.factor != STEP}
    later = set(chain.from_iterable((one.treatment, one.control) for one in contrasts if one.factor == STEP))
    models = list(study.file.models)
    found: dict[str, bool] = {}

    def walk(nodes: Sequence[Node], *, loop: bool) -> bool:
        """Read the questions until the treatment; whether it was reached."""
        for node in nodes:
            varied = node.vary.keys() if isinstance(node, Loop) else ()
            by = {node.do.by} if isinstance(node, Loop) and isinstance(node.do, ByFactor) else set()
            if treated & {*(node.when or {}), *varied, *by}:
                return True
            if isinstance(node, Phase | Loop):
                if walk(node.flow, loop=loop or isinstance(node, Loop)):
                    return True
                continue
            if node.id in later or node.asks_models(models):
                return True
            if node.step == "survey" and not loop:
                found.update({field.name: is_numeric(field) for field in node.questions_asked()})
        return False

    walk(study.flow, loop=False)
    return found
