"""What `parley trial power` simulates for a plan: each hypothesis with its design, its assumptions and its grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from statistics import median

import pandas as pd

from app.analysis.chatbench.accuracy import COLUMNS, TABLE, prepared
from app.analysis.data_frames import frame
from app.analysis.trial.estimator import CONTROL, TREATMENT
from app.analysis.trial.outcomes import TrialData
from app.analysis.trial.planned_design import BINARY, planned_design, wanted_effect
from app.analysis.trial.power import (
    GridPoint,
    ParticipantsNeeded,
    PowerPoint,
    approximate_participants,
    null_effect,
    participants_for,
    sizes_around,
)
from app.analysis.trial.simulation import Assumptions, Design
from app.analysis.trial.variance import Observed, observe
from app.errors import TrialError
from experiments.study.sections.plan import STEP, Hypothesis, Plan
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.origins import ORIGINS, Origin
from storage.reports.analysis_data import origins_of

POWERS = (0.8, 0.9)
"""The powers for which a number of participants is given."""
MORE = 1.5
"""By default the wanted effect and this times as much are simulated."""


@dataclass(frozen=True, slots=True)
class PowerOptions:
    """What is asked for: assumptions that replace those of data, and the grid. Empty parts have their defaults."""

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
    """A hypothesis, what is simulated of it, and the results."""

    hypothesis: Hypothesis
    design: Design
    assumed: Assumptions
    effects: tuple[float, ...]
    """The null hypothesis's first."""
    grid: tuple[GridPoint, ...]
    points: tuple[PowerPoint, ...] = ()

    def needed(self) -> Iterator[tuple[float, float, ParticipantsNeeded]]:
        """For each effect but the null's, and each power: the number of participants."""
        for effect in self.effects[1:]:
            own = [point for point in self.points if point.effect == effect]
            for power in POWERS:
                yield effect, power, participants_for(own, power)


@dataclass(frozen=True)
class Pilot:
    """Where assumptions are from: sessions of the study, or answers of an imported release; by default nowhere."""

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
        """The median time of complete sessions; None without any."""
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
    study: Study, plan: Plan, hypothesis: Hypothesis, tried: TrialData, pilot: Pilot, options: PowerOptions
) -> HypothesisPower:
    """What to simulate for a hypothesis.

    Answers and questions are those of the simulated people `tried`; assumptions are the options', then the pilot's.
    Raises TrialError for what neither has.
    """
    design = planned_design(study, hypothesis, trial_rows(tried, hypothesis))
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


def _default_effects(hypothesis: Hypothesis, assumed: Assumptions) -> tuple[float, ...]:
    """The wanted effect, and a larger one if there can be such a share."""
    wanted = wanted_effect(hypothesis)
    if wanted is None:
        raise TrialError(f"{hypothesis.id} has no `smallest_effect` in the plan: write one, or give --effect.")
    larger = MORE * wanted
    possible = assumed.sd is not None or 0 < assumed.baseline + larger < 1
    return (wanted, larger) if wanted and possible else (wanted,)
