"""The simulations of `parley trial power` for a plan: each hypothesis with its design (arms by the weights of the
study's cells, answers and questions as asked), its assumptions and its grid.

Assumptions are taken from a pilot or a release. With the residuals r of answers from the mean of their arm, the
intraclass correlation of participants is

    sum over pairs of r r' of one participant and different questions / number of such pairs / mean of r^2

and that of questions the same for pairs of one question and different participants: pairwise moment estimates, with
equal weights of pairs (such estimates are compared in Biometrics 1995, 51:276). Below 0 they count as 0.

Covariates explain the share R2 of the variance of participants' mean residuals, adjusted for their number k as 1 - (1
- R2) (G - 1)/(G - k - 1) with G participants; times that variance over mean of r^2, it is their share of the variance
of answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import sqrt
from statistics import median

import numpy as np
import pandas as pd

from app.errors import TrialError
from app.extensions.analysis.chatbench.accuracy import COLUMNS, TABLE, prepared
from app.extensions.analysis.data_frames import frame
from app.extensions.analysis.intervals import Codes, Values, codes, number_of
from app.extensions.analysis.reads.study_data import origins_of
from app.extensions.analysis.report.charts import PER_CENT, WIDTH, line_at, lines_with_points, nominal
from app.extensions.trials.estimator import BEFORE, CONTROL, TREATMENT
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
from app.rendering.chart_style import CONFIG, INK, Spec
from experiments.study.cells import cells
from experiments.study.sections.plan import STEP, Hypothesis, Plan
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.origins import ORIGINS, Origin

# The outcome whose values are 0 or 1.
BINARY = "correct"


def contrast_of(study: Study, hypothesis: Hypothesis) -> Contrast:
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
        covariates=0 if contrast == "paired" else len(plan.covariates),
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
    """The effect for which power is computed: the smallest one of interest with its sign; 0 where the claim is that
    there is none. None if the plan has none."""
    if hypothesis.direction in ("equivalent", "not_worse"):
        return 0.0
    if hypothesis.smallest_effect is None:
        return None
    return -hypothesis.smallest_effect if hypothesis.direction == "less" else hypothesis.smallest_effect


# The fewest participants from whom variances are estimated.
FEWEST = 10


@dataclass(frozen=True, slots=True)
class Observed:
    baseline: float
    sd: float
    icc_participant: float
    icc_question: float
    participants: int
    answers: int
    covariate_r2: float | None = None
    """None without covariates."""


def observe(rows: pd.DataFrame, covariates: Sequence[str] = ()) -> Observed:
    """The moments of a trial's rows; columns as of `estimator.difference` or `paired`, and the covariates.

    The baseline is the control's mean. Raises TrialError for too few participants, or without a control.
    """
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
        raise TrialError("Nobody has a value of the control there, so there is no baseline: give --baseline.")
    means = there.groupby(group.astype(str))["value"].transform("mean")
    left = (there["value"] - means).to_numpy(float)
    variance = float(left @ left) / left.size
    if variance <= 0:
        raise TrialError("All values there are equal, so their variance is unknown.")
    asked = codes(there["question"]) if "question" in there else None
    both = codes(people * number_of(asked) + asked) if asked is not None else None
    of_people = max(0.0, _pairs(left, people, both) / variance)
    of_questions = max(0.0, _pairs(left, asked, both) / variance) if asked is not None else 0.0
    found = Observed(float(control.mean()), sqrt(variance), of_people, of_questions, number_of(people), left.size)
    if not covariates:
        return found
    share = _explained(there.assign(left=left), covariates) / variance
    several = left.size > number_of(people)
    return replace(found, covariate_r2=min(share, of_people) if several else min(share, 1.0))


def _explained(rows: pd.DataFrame, covariates: Sequence[str]) -> float:
    """The variance of participants' mean residuals that covariates explain; raises TrialError for too few."""
    means = rows.dropna(subset=list(covariates)).groupby("participant")[["left", *covariates]].mean()
    free = len(means) - len(covariates) - 1
    if free < FEWEST:
        raise TrialError(
            f"{len(means)} participants have a value and the covariates there, too few to say what the covariates "
            "explain: give --assume covariate_r2=..."
        )
    y = (means["left"] - means["left"].mean()).to_numpy(float)
    x = (means[list(covariates)] - means[list(covariates)].mean()).to_numpy(float)
    rest = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return max(0.0, float(y @ y / (len(y) - 1) - rest @ rest / free))


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


@dataclass(frozen=True)
class Pilot:
    """The source of assumptions: sessions of the study, or answers of an imported release; by default none."""

    sessions: TrialData | None = None
    release: pd.DataFrame | None = None

    def observed(self, hypothesis: Hypothesis) -> dict[str, float]:
        """The fields of `Assumptions` as they were there; empty without data."""
        if self.release is not None:
            if hypothesis.outcome != BINARY:
                raise TrialError(
                    f"{hypothesis.id}: a ChatBench release has no `{hypothesis.outcome}`, only `{BINARY}`."
                )
            return _known(observe(self.release))
        if self.sessions is None:
            return {}
        among = [one for one in self.sessions.sessions if one.assigned(hypothesis.contrast)]
        gone = sum(not one.complete for one in among) / len(among) if among else 0.0
        covariates = () if hypothesis.contrast.factor == STEP else self.sessions.plan.covariates
        return _known(observe(trial_rows(self.sessions, hypothesis), covariates)) | {"dropout": gone}

    @property
    def minutes(self) -> float | None:
        times = [one.seconds / 60 for one in self.sessions.sessions if one.complete] if self.sessions else []
        return median(times) if times else None


def _known(observed: Observed) -> dict[str, float]:
    return {name: value for name, value in asdict(observed).items() if value is not None}


def trial_rows(data: TrialData, hypothesis: Hypothesis) -> pd.DataFrame:
    return data.rows(hypothesis, [one.session for one in data.sessions])


def release(database: Database, name: str) -> pd.DataFrame:
    """The answers of an imported ChatBench release: with the chatbot as the treatment, alone as the control."""
    imported = Origin.IMPORT in origins_of(database, name)
    rows = prepared(frame(database, name, TABLE, Origin.IMPORT, columns=COLUMNS)) if imported else pd.DataFrame()
    if rows.empty:
        raise TrialError(
            f"--from {name}: the database has no imported ChatBench release by that name. Import one (`parley "
            f"import`), or use sessions of this study: {', '.join(ORIGINS)}."
        )
    arm = rows["moment"].map({"with_AI": TREATMENT}).fillna(CONTROL)
    named = rows.rename(columns={"worker_id": "participant", "question_id": "question", "acc": "value"})
    return named.assign(arm=arm)[["participant", "arm", "question", "value"]]


def plan_power(
    study: Study, plan: Plan, hypothesis: Hypothesis, trial: TrialData, pilot: Pilot, options: PowerOptions
) -> HypothesisPower:
    """The simulation of a hypothesis.

    Answers and questions are those of the simulated people `trial`; assumptions are the options', then the pilot's.
    Raises TrialError for what neither has.
    """
    design = planned_design(study, hypothesis, trial_rows(trial, hypothesis))
    design = replace(design, answers=options.answers or design.answers, questions=options.questions or design.questions)
    assumed = _assumptions(hypothesis, design, {**pilot.observed(hypothesis), **options.assumed})
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
        "covariate_r2": design.covariates > 0,
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


TARGETS = (80, 90)


def power_chart(power_points: Mapping[str, Sequence[PowerPoint]], null: Mapping[str, float]) -> Spec:
    """Power by the number of participants, a line for each effect with Monte Carlo intervals.

    A panel for each hypothesis: its points by its id, and `null` its effect without power.
    """
    drawn = [_power(name, points, null[name]) for name, points in power_points.items()]
    apart = {"scale": {"color": "independent", "shape": "independent"}}
    return {"config": CONFIG, "resolve": apart, "vconcat": drawn}


def _power(name: str, points: Sequence[PowerPoint], null: float) -> Spec:
    words = {point.effect: f"effect {point.effect:g}" + (" (null)" if point.effect == null else "") for point in points}
    rows = [
        {
            "participants": one.participants,
            "effect": words[one.effect],
            "value": 100 * one.power,
            "low": 100 * one.interval[0],
            "high": 100 * one.interval[1],
        }
        for one in points
    ]
    y = {"type": "quantitative", "title": None, "scale": {"domain": [0, 100]}, "axis": {"labelExpr": PER_CENT}}
    x = {
        "field": "participants",
        "type": "quantitative",
        "title": "participants who begin",
        "scale": {"zero": False, "padding": 14},
        "axis": {"tickCount": 6, "format": ",d", "grid": False},
    }
    effects = list(words.values())
    lines = lines_with_points({"x": x, "color": nominal("effect", effects)}, y, "effect", effects)
    return {
        "title": {"text": f"{name}: power", "anchor": "start", "color": INK, "fontSize": 13},
        "width": WIDTH - 60,
        "height": 220,
        "data": {"values": rows},
        "layer": [line_at(TARGETS, "y", y), *lines],
    }
