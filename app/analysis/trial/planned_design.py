"""What is simulated for a study's plan: arms by the weights of the study's cells, answers and questions as asked."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from app.analysis.trial.simulation import Contrast, Design
from app.errors import TrialError
from experiments.study.cells import cells
from experiments.study.sections.plan import STEP, Hypothesis, Plan
from experiments.study.study import Study

BINARY = "correct"
"""The outcome whose values are 0 or 1."""


def contrast_of(study: Study, hypothesis: Hypothesis) -> Contrast:
    """Whether a hypothesis compares participants, a participant's answers, or two moments of the same answers."""
    if hypothesis.contrast.factor == STEP:
        return "paired"
    return "between" if hypothesis.contrast.factor in study.factors else "within"


def planned_design(study: Study, hypothesis: Hypothesis, rows: pd.DataFrame) -> Design:
    """The design of a hypothesis; answers and questions are those of `rows`, of simulated or real participants.

    Its alpha is that which the hypothesis needs whatever the others show: over the number of its family, if that is
    corrected (Holm's first step, and Benjamini and Hochberg's); with planned looks, over the number of primary ones.
    Raises TrialError where nobody can be compared.
    """
    plan = plan_of(study)
    contrast = contrast_of(study, hypothesis)
    among = hypothesis.contrast
    shares = [1.0, 1.0]
    if contrast == "between":
        every = cells(study.factors, study.pools)
        shares = [
            sum(cell.weight for cell in every if cell.values.get(among.factor) == value)
            for value in (among.treatment, among.control)
        ]
    if not all(shares):
        raise TrialError(f"{hypothesis.id}: nobody is assigned to one of {among.treatment} and {among.control}.")
    if rows.empty:
        raise TrialError(f"{hypothesis.id}: no participant has a value of {hypothesis.outcome}.")
    groups = ["participant", "moment"] if "moment" in rows else ["participant"]
    looks = plan.looks if hypothesis.role == "primary" else None
    corrected = len(plan.corrected(hypothesis.family)) if plan.correction(hypothesis.family) != "none" else 1
    share = len(plan.primary) if looks is not None else corrected
    return Design(
        contrast,
        hypothesis.direction,
        hypothesis.alpha / share,
        hypothesis.margin,
        treated=shares[0] / sum(shares) if contrast == "between" else 0.5,
        compared=sum(shares) if contrast == "between" else 1.0,
        answers=round(float(rows.groupby(groups, observed=True).size().median())),
        questions=int(rows["question"].nunique()) if "question" in rows else 1,
        looks=looks,
        covariates=0 if contrast == "paired" else len(plan.covariates),
        missing=plan.missing,
    )


def plan_of(study: Study) -> Plan:
    """The study's plan; raises TrialError if it has none."""
    if study.file.plan is None:
        raise TrialError(f"The study {study.name} has no `plan:`, so there is no hypothesis. See docs/trials.md.")
    return study.file.plan


def chosen_hypotheses(plan: Plan, names: Sequence[str]) -> tuple[Hypothesis, ...]:
    """The named hypotheses, or all primary ones; raises TrialError for a name that there is not."""
    known = {one.id: one for one in plan.hypotheses}
    for name in names:
        if name not in known:
            raise TrialError(f"The plan has no hypothesis {name!r}; it has {', '.join(known)}.")
    return tuple(known[name] for name in names) if names else plan.primary


def wanted_effect(hypothesis: Hypothesis) -> float | None:
    """The effect for which power is computed: the smallest one of interest with its sign; 0 where the claim is that
    there is none. None if the plan has none."""
    if hypothesis.direction in ("equivalent", "not_worse"):
        return 0.0
    if hypothesis.smallest_effect is None:
        return None
    return -hypothesis.smallest_effect if hypothesis.direction == "less" else hypothesis.smallest_effect
