"""The simulations of `parley trial power` for a plan: each hypothesis with its design (arms by the weights of the
study's cells, answers and questions as asked), its assumptions and its grid.

Assumptions are taken from a pilot. With the residuals r of answers from the mean of their arm, the
intraclass correlation of participants is

    sum over pairs of r r' of one participant and different questions / number of such pairs / mean of r^2

and that of questions the same for pairs of one question and different participants: pairwise moment estimates, with
equal weights of pairs (such estimates are compared in Biometrics 1995, 51:276). Below 0 they count as 0.

Covariates are not counted on: what they explain makes the power of the report's analysis higher.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np
import pandas as pd

from app.errors import TrialError
from app.extensions.analysis.intervals import Codes, Values, codes, number_of
from app.extensions.trials.estimator import BEFORE, CONTROL
from app.extensions.trials.outcomes import TrialData
from app.extensions.trials.power import (
    GridPoint,
    ParticipantsNeeded,
    PowerPoint,
    approximate_participants,
    null_effect,
    participants_for,
    sizes_around,
)
from app.extensions.trials.simulation import Assumptions, Contrast, Design
from experiments.study.cells import cells
from experiments.study.sections.plan import STEP, Hypothesis, Plan
from experiments.study.study import Study

# The outcome whose values are 0 or 1.
BINARY = "correct"


def contrast_of(study: Study, hypothesis: Hypothesis) -> Contrast:
    if hypothesis.contrast.factor == STEP:
        return "paired"
    return "between" if hypothesis.contrast.factor in study.factors else "within"


def planned_design(study: Study, hypothesis: Hypothesis, rows: pd.DataFrame) -> Design:
    """The design of a hypothesis; answers and questions are those of `rows`, of simulated or real participants. Its
    alpha is what it needs whatever the others show: over the number of its family, if that is corrected (Holm's first
    step, and Benjamini and Hochberg's), or of primary ones with planned looks. Raises TrialError where nobody can be
    compared."""
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
        raise TrialError(
            f"{hypothesis.id}: no participant is assigned to one of {among.treatment} and {among.control}."
        )
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
        missing=plan.missing,
    )


def plan_of(study: Study) -> Plan:
    if study.file.plan is None:
        raise TrialError(f"The study {study.name} has no `plan:`, so there is no hypothesis. See docs/trials.md.")
    return study.file.plan


def chosen_hypotheses(plan: Plan, names: Sequence[str]) -> tuple[Hypothesis, ...]:
    known = {one.id: one for one in plan.hypotheses}
    for name in names:
        if name not in known:
            raise TrialError(f"The plan has no hypothesis {name!r}; it has {', '.join(known)}.")
    return tuple(known[name] for name in names) if names else plan.primary


def wanted_effect(hypothesis: Hypothesis) -> float | None:
    """The smallest effect of interest with its sign; 0 where the claim is that there is none; None if not planned."""
    if hypothesis.direction in ("equivalent", "not_worse"):
        return 0.0
    if hypothesis.smallest_effect is None:
        return None
    return -hypothesis.smallest_effect if hypothesis.direction == "less" else hypothesis.smallest_effect


# The fewest participants from whom variances are estimated.
FEWEST = 10


def observe(rows: pd.DataFrame) -> dict[str, float]:
    """The assumptions that a trial's rows show; columns as of `estimator.difference` or `paired`. The baseline is the
    control's mean. Raises TrialError for too few participants, or without a control."""
    there = rows.dropna(subset=["value"])
    group = there["arm"] if "arm" in there else there["moment"]
    people = codes(there["participant"])
    if number_of(people) < FEWEST:
        raise TrialError(
            f"{number_of(people)} participants have a value there; variances need {FEWEST}. Give the assumptions as "
            "options: --assume baseline=..., sd, icc_participant, icc_question."
        )
    control = there["value"][group.isin([CONTROL, BEFORE])]
    if control.empty:
        raise TrialError("Nobody has a value of the control there, so there is no baseline: --assume baseline=...")
    means = there.groupby(group.astype(str))["value"].transform("mean")
    left = (there["value"] - means).to_numpy(float)
    variance = float(left @ left) / left.size
    if variance <= 0:
        raise TrialError("All values there are equal, so their variance is unknown.")
    asked = codes(there["question"]) if "question" in there else None
    both = codes(people * number_of(asked) + asked) if asked is not None else None
    return {
        "baseline": float(control.mean()),
        "sd": sqrt(variance),
        "icc_participant": max(0.0, _pairs(left, people, both) / variance),
        "icc_question": max(0.0, _pairs(left, asked, both) / variance) if asked is not None else 0.0,
    }


def _pairs(left: Values, clusters: Codes, apart: Codes | None) -> float:
    """The mean product of pairs of a cluster, without the pairs that share `apart` too; 0 without pairs."""
    products, count = _sums(left, clusters)
    if apart is not None:
        less = _sums(left, apart)
        products, count = products - less[0], count - less[1]
    return products / count if count else 0.0


def _sums(left: Values, clusters: Codes) -> tuple[float, float]:
    """The sum of products over ordered pairs of a cluster, and how many there are."""
    sums, sizes = np.bincount(clusters, weights=left), np.bincount(clusters)
    return float(sums @ sums - left @ left), float(sizes @ sizes - left.size)


# The powers for which a number of participants is given.
POWERS = (0.8, 0.9)
# By default the wanted effect and this times as much are simulated.
MORE = 1.5


@dataclass(frozen=True, slots=True)
class PowerOptions:
    """Assumptions that replace those of data, and the grid. Empty parts have their defaults."""

    assumed: Mapping[str, float] = field(default_factory=dict)
    """Fields of `Assumptions` by their names."""
    answers: int | None = None
    questions: int | None = None
    participants: tuple[int, ...] = ()
    effects: tuple[float, ...] = ()
    runs: int = 1000
    seed: int = 1


@dataclass(frozen=True, slots=True)
class HypothesisPower:
    hypothesis: Hypothesis
    design: Design
    assumed: Assumptions
    effects: tuple[float, ...]
    """The null hypothesis's first."""
    grid: tuple[GridPoint, ...]
    points: tuple[PowerPoint, ...] = ()

    def needed(self) -> Iterator[tuple[float, float, ParticipantsNeeded]]:
        for effect in self.effects[1:]:
            own = [point for point in self.points if point.effect == effect]
            for power in POWERS:
                yield effect, power, participants_for(own, power)


def observed_in(pilot: TrialData | None, hypothesis: Hypothesis) -> dict[str, float]:
    """The fields of `Assumptions` as they were in a pilot; empty without one."""
    if pilot is None:
        return {}
    among = [one for one in pilot.sessions if one.assigned(hypothesis.contrast)]
    gone = sum(not one.complete for one in among) / len(among) if among else 0.0
    return observe(trial_rows(pilot, hypothesis)) | {"dropout": gone}


def trial_rows(data: TrialData, hypothesis: Hypothesis) -> pd.DataFrame:
    return data.rows(hypothesis, [one.session for one in data.sessions])


def plan_power(
    study: Study, plan: Plan, hypothesis: Hypothesis, trial: TrialData, pilot: TrialData | None, options: PowerOptions
) -> HypothesisPower:
    """The simulation of a hypothesis. Answers and questions are those of the simulated people `trial`; assumptions are
    the options', then the pilot's. Raises TrialError for what neither has."""
    design = planned_design(study, hypothesis, trial_rows(trial, hypothesis))
    design = replace(design, answers=options.answers or design.answers, questions=options.questions or design.questions)
    assumed = _assumptions(hypothesis, design, {**observed_in(pilot, hypothesis), **options.assumed})
    null, true = null_effect(design), options.effects or _default_effects(hypothesis, assumed)
    sizes = options.participants or sizes_around(
        approximate_participants(design, assumed, next((one for one in true if one != null), null))
    )
    planned = () if plan.participants is None else (plan.participants,)
    effects = tuple(dict.fromkeys((null, *true)))
    grid = tuple(
        GridPoint(design, assumed, size, effect, options.runs, options.seed)
        for effect in effects
        for size in sorted({*sizes, *planned})
    )
    return HypothesisPower(hypothesis, design, assumed, effects, grid)


def _assumptions(hypothesis: Hypothesis, design: Design, known: Mapping[str, float]) -> Assumptions:
    binary = hypothesis.outcome == BINARY
    needed = {
        "baseline": True,
        "sd": not binary,
        "icc_participant": design.answers > 1,
        "icc_question": design.questions > 1,
    }
    if lacking := [f"--assume {name}=..." for name, needs in needed.items() if needs and name not in known]:
        raise TrialError(
            f"{hypothesis.id}: power needs assumptions. Give {', '.join(lacking)}, or take them from data, as with "
            "--from pilot."
        )
    used = {name: known[name] for name, needs in needed.items() if needs}
    return Assumptions(**used, dropout=known.get("dropout", 0.0))


def _default_effects(hypothesis: Hypothesis, assumptions: Assumptions) -> tuple[float, ...]:
    wanted = wanted_effect(hypothesis)
    if wanted is None:
        raise TrialError(f"{hypothesis.id} has no `smallest_effect` in the plan: write one, or give --effect.")
    larger = MORE * wanted
    possible = assumptions.sd is not None or 0 < assumptions.baseline + larger < 1
    return (wanted, larger) if wanted and possible else (wanted,)
