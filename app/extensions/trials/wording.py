"""A plan and its design in words, for a preregistration and for a methods section. All of it follows from the study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from experiments.plural import count
from experiments.study.cells import cells
from experiments.study.sections.plan import (
    FEWEST_IN_A_GROUP,
    STEP,
    Correction,
    Exclusion,
    Hypothesis,
    Outcome,
    Plan,
    Spending,
)
from experiments.study.study import Study

ESTIMATOR = (
    "The effect is the coefficient of the group in a least-squares regression of the outcome on the group, with an "
    "effect of each question if there is more than one, and the covariates. Its standard error allows for the "
    "likeness of the answers of one participant and for small numbers of them (the bias-reduced sandwich estimator "
    "clustered by participant, CR2). Intervals and p values are those of Student's t with Satterthwaite's degrees of "
    "freedom (Pustejovsky and Tipton 2018). Raw means are those of all answers of a group, without any of this."
)
PAIRED = (
    "For two steps of the same participants, the effect is the mean of their differences, with the same standard error "
    "and degrees of freedom (one for each participant, minus 1, if each has one difference)."
)
# How participants are assigned (experiments/session/assignment.py).
RANDOMISED = (
    "Parley assigns a participant to the group that is furthest behind its share, ties at random, from a seed of the "
    "session. Each assignment can be derived again from the log."
)
OUTCOMES: Mapping[str, str] = {
    "correct": "whether the answer to a question is right (0 or 1)",
    "answer": "the numeric answer to a question",
    "error": "the distance of a numeric answer from the right one",
    "confidence": "the confidence in an answer",
    "seconds": "the time of a session, in seconds",
}
CORRECTIONS: Mapping[Correction, str] = {
    "none": "not corrected for their number",
    "holm": "corrected by Holm's method (1979), which controls the chance of any false positive",
    "benjamini-hochberg": "corrected by Benjamini and Hochberg's method (1995), which controls the false discovery "
    "rate",
}
SPENDING: Mapping[Spending, str] = {
    "obrien-fleming": "Alpha is spent over the looks by Lan and DeMets' function (1983) in the manner of O'Brien "
    "and Fleming.",
    "pocock": "Alpha is spent over the looks by Lan and DeMets' function (1983) in the manner of Pocock.",
    "always-valid": "The interval is a confidence sequence, which is valid at all times together.",
}
# The exclusion rules of a plan: what participants did whom they leave out.
RULES: Mapping[Exclusion, str] = {
    "failed_attention": "failed an attention check",
    "too_fast": "completed the study too fast",
    "integrity": "were excluded by a researcher for integrity",
    "timed_out": "ran out of time",
    "technical_failure": "ended for a technical failure",
    "off_protocol": "had replies that broke the rules of their arm",
    "incomplete": "did not complete the study",
}
DIRECTIONS: Mapping[str, str] = {
    "greater": "is greater with {treatment} than with {control}",
    "less": "is less with {treatment} than with {control}",
    "different": "differs between {treatment} and {control}",
    "equivalent": "is equivalent with {treatment} and {control}: the difference is within {margin:g}",
    "not_worse": "is not worse with {treatment} than with {control}: the difference is above -{margin:g}",
}


def outcome_words(outcome: Outcome) -> str:
    """`rating.helpfulness` is `the rating "helpfulness"`."""
    kind, _, name = outcome.partition(".")
    named = {"rating": "the rating", "survey": "the answer to the survey question", "score": "the score"}
    return OUTCOMES[outcome] if outcome in OUTCOMES else f'{named[kind]} "{name}"'


def hypothesis_words(hypothesis: Hypothesis) -> str:
    """For a test: `correct is greater with ai than with alone`."""
    contrast = hypothesis.contrast
    form = DIRECTIONS[hypothesis.direction]
    words = form.format(treatment=contrast.treatment, control=contrast.control, margin=hypothesis.margin or 0)
    of = "steps" if contrast.factor == STEP else contrast.factor
    smallest = (
        f" The smallest effect of interest is {hypothesis.smallest_effect:g}." if hypothesis.smallest_effect else ""
    )
    return f"{hypothesis.id} ({hypothesis.role}): {outcome_words(hypothesis.outcome)} {words} ({of}).{smallest}"


def model_words(plan: Plan) -> str:
    steps = any(one.contrast.factor == STEP for one in plan.hypotheses)
    groups = any(one.contrast.factor != STEP for one in plan.hypotheses)
    models = " ".join(words for words, used in ((ESTIMATOR, groups), (PAIRED, steps)) if used)
    covariates = f" Covariates: {', '.join(plan.covariates)}." if plan.covariates else " There are no covariates."
    return f"{models}{covariates}"


def inference_words(plan: Plan) -> Iterator[str]:
    if plan.looks:
        names, many = ", ".join(one.id for one in plan.primary), len(plan.primary)
        levels = ", ".join(dict.fromkeys(f"{one.alpha / many:.3g}" for one in plan.primary))
        some = (
            f"primary hypotheses ({names}) share alpha equally. Each" if many > 1 else f"primary hypothesis ({names})"
        )
        yield f"The {some} is tested at alpha = {levels} over all looks together."
    for family in dict.fromkeys(one.family for one in plan.hypotheses):
        if not (members := plan.corrected(family)):
            continue
        names = ", ".join(one.id for one in members)
        levels = ", ".join(dict.fromkeys(f"{one.alpha:g}" for one in members))
        tests = f"The family {family} ({names}) is tested at alpha = {levels}"
        how = f", {CORRECTIONS[plan.correction(family)]}" if len(members) > 1 else ""
        yield f"{tests}{how}."
    if any(one.direction in ("greater", "less", "not_worse") for one in plan.hypotheses):
        yield (
            "Hypotheses with the direction greater, less or not worse are tested one-sided at their alpha, and their "
            "intervals are of level 1 - 2 alpha."
        )
    if any(one.direction == "equivalent" for one in plan.hypotheses):
        yield "Equivalence is tested by two one-sided tests, each at alpha, with an interval of level 1 - 2 alpha."
    yield f"Nothing is concluded where a group has fewer than {FEWEST_IN_A_GROUP} participants."
    if plan.looks:
        yield f"{SPENDING[plan.looks.spending]} Looks advise; the researchers decide whether to stop."


def sample_words(plan: Plan) -> str:
    if plan.participants is None:
        return f"as many as give each primary hypothesis a power of {plan.power:g} (see `parley trial power`)"
    return f"{count(plan.participants, 'participant')}, of all groups together"


def looks_words(plan: Plan) -> str:
    if plan.looks is None:
        return "Outcomes are analysed once, when all participants have completed. There is no interim look."
    shares = ", ".join(f"{share:.0%}" for share in plan.looks.at)
    blind = " Until the last, groups are called A and B." if plan.looks.blinded else ""
    return f"Outcomes are looked at when {shares} of the participants have completed.{blind}"


def exclusion_words(plan: Plan) -> str:
    limits = {"too_fast": f" (in less than {plan.fastest_seconds or 0:g} seconds)"}
    limits["off_protocol"] = f" (less than {plan.least_adherence or 0:.0%} of the verdicts were kept)"
    named = [RULES[rule] + limits.get(rule, "") for rule in plan.exclude]
    rules = f" The per-protocol analysis leaves out participants who {'; '.join(named)}." if named else ""
    return (
        "The main analysis is by intention to treat: everybody who was assigned, in the assigned group. Data of "
        f"participants who withdrew are erased.{rules} Outliers are not treated otherwise."
    )


def missing_words(plan: Plan) -> str:
    if plan.missing == "worst-case":
        return (
            "Participants are compared by their share of right answers, of those that they gave; a participant without "
            "any answer counts as all wrong."
        )
    return "Participants without an outcome are left out of its analysis; their number is reported by group."


def factor_words(study: Study) -> Iterator[str]:
    found: dict[str, dict[str, float]] = {name: {} for name in study.factors}
    for cell in cells(study.factors, study.pools):
        for name, value in cell.values.items():
            found[name][value] = found[name].get(value, 0.0) + cell.weight
    for name, weights in found.items():
        whole = sum(weights.values())
        values = ", ".join(f"{value} ({weight / whole:.0%})" for value, weight in weights.items())
        yield f"{name}, between participants: {values}"
    for loop in study.loops:
        for name, levels in loop.vary.items():
            yield f"{name}, within participants: {', '.join(levels)}"
