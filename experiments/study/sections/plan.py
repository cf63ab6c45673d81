"""The analysis plan of a trial, decided before data are seen: hypotheses, sample size, looks, exclusions, missing data.
It is part of the study's document and hash, so each change of the plan is a new version of the study."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from experiments.study.base_model import Level, Name, Slug, StrictModel

# In place of a factor: two steps of the same participant are compared, such as an answer before and after a chat.
STEP = "step"
# With fewer participants in a group of a contrast nothing is concluded: p values of so few do not hold.
FEWEST_IN_A_GROUP = 8
OUTCOME = (
    r"^(correct|answer|error|confidence|seconds"
    r"|(rating|survey)\.[A-Za-z][A-Za-z0-9_-]*|score\.[A-Za-z][A-Za-z0-9_-]*\.[A-Za-z][A-Za-z0-9_-]*)$"
)
# `correct`: whether an answer to a problem is right (0 or 1). `answer`, `error`: a numeric answer, and its distance
# from the right one. `confidence`: in an answer. `seconds`: the time of a session. `rating.NAME`: a rating.
# `survey.QUESTION`: an answer in a survey. `score.INSTRUMENT.SCORE`: a score of an instrument.
Outcome = Annotated[str, StringConstraints(pattern=OUTCOME)]
Direction = Literal["greater", "less", "different", "equivalent", "not_worse"]
Correction = Literal["none", "holm", "benjamini-hochberg"]
Spending = Literal["obrien-fleming", "pocock", "always-valid"]
Missing = Literal["complete-cases", "worst-case"]
Exclusion = Literal[
    "failed_attention", "too_fast", "integrity", "timed_out", "technical_failure", "off_protocol", "incomplete"
]


class PlannedContrast(StrictModel):
    """The two groups that a hypothesis compares; the effect is the treatment's mean minus the control's."""

    factor: Slug
    """A factor of the study or a name in a loop's `vary`; or `step`, and the values are ids of two steps."""
    treatment: Level
    """The value of the first group."""
    control: Level
    """The value of the group to compare with."""

    @model_validator(mode="after")
    def _two(self) -> Self:
        if self.treatment == self.control:
            raise ValueError("treatment and control are the same value; a contrast needs two")
        return self


class Hypothesis(StrictModel):
    """A hypothesis. Its figure in the report is `trial.difference.<id>`."""

    id: Slug
    """Its name in figures, in the report and in deviations."""
    claim: str
    """The claim in a sentence."""
    outcome: Outcome
    """The measure that is compared: `correct`, `answer`, `error`, `confidence`, `seconds`, `rating.NAME`,
    `survey.QUESTION` or `score.INSTRUMENT.SCORE`."""
    contrast: PlannedContrast
    """The groups that are compared."""
    direction: Direction
    """`greater` and `less` are one-sided, `different` is two-sided. `equivalent`: the effect is within `margin` of 0.
    `not_worse`: it is above minus `margin`."""
    smallest_effect: Annotated[float, Field(gt=0)] | None = None
    """The smallest effect of interest, without its sign, in the outcome's unit: 0.05 is 5 percentage points for
    `correct`. Power is computed for it."""
    margin: Annotated[float, Field(gt=0)] | None = None
    """The margin of `equivalent` and `not_worse`, in the outcome's unit."""
    alpha: Annotated[float, Field(gt=0, le=0.2)] = 0.05
    """The level of the test, of both sides together where it is two-sided."""
    role: Literal["primary", "secondary"] = "primary"
    """`primary` if the study's conclusion rests on it."""
    family: Slug = "main"
    """Hypotheses that are corrected together."""

    @model_validator(mode="after")
    def _margin(self) -> Self:
        if (self.margin is not None) != (self.direction in ("equivalent", "not_worse")):
            needs = "needs" if self.margin is None else "does not use"
            raise ValueError(f"direction {self.direction!r} {needs} a margin")
        return self


class Looks(StrictModel):
    """Interim looks at the primary outcome."""

    at: Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], Field(min_length=1, max_length=20)]
    """The share of the planned participants at each look, in order; the last is 1: `[0.5, 1]`."""
    spending: Spending = "obrien-fleming"
    """The spending of alpha over the looks. `always-valid`: a confidence sequence, valid at any time, also between the
    looks."""
    blinded: bool = True
    """True if looks name the groups A and B."""

    @field_validator("at")
    @classmethod
    def _in_order(cls, at: tuple[float, ...]) -> tuple[float, ...]:
        if any(later <= earlier for earlier, later in pairwise(at)):
            raise ValueError("must be in rising order, each share once")
        if at[-1] != 1:
            raise ValueError("must end with 1, the look at all participants")
        return at


class Plan(StrictModel):
    """The plan of a trial."""

    hypotheses: Annotated[tuple[Hypothesis, ...], Field(min_length=1)]
    """The hypotheses that are tested. Every other result of the report is exploratory."""
    corrections: dict[Slug, Correction] = {}
    """The correction of each family of hypotheses for their number: `none`, `holm` or `benjamini-hochberg`. Holm by
    default."""
    participants: Annotated[int, Field(ge=4)] | None = None
    """The number of participants to analyse, of all groups together."""
    power: Annotated[float, Field(ge=0.5, lt=1)] | None = None
    """The power that is wanted for each primary hypothesis at its smallest effect. `parley trial power` gives the
    number of participants."""
    looks: Looks | None = None
    """Interim looks. Without any, outcomes are looked at once, at the end."""
    exclude: tuple[Exclusion, ...] = ()
    """Sessions that the per-protocol analysis leaves out; `too_fast`: see `fastest_seconds`, `integrity`: excluded
    by a researcher for integrity, `off_protocol`: see `least_adherence`."""
    fastest_seconds: Annotated[float, Field(gt=0)] | None = None
    """The shortest time of a session that counts, for `too_fast`."""
    least_adherence: Annotated[float, Field(gt=0, le=1)] | None = None
    """The smallest share of verdicts of the study's `fidelity` rules that were kept in a session that counts, for
    `off_protocol`; sessions that a rule ended do not count either."""
    covariates: tuple[Name, ...] = ()
    """Survey questions with numeric answers, asked before the treatment, for which effects are adjusted."""
    missing: Missing = "complete-cases"
    """The treatment of a participant without the outcome. `complete-cases`: left out, and counted. `worst-case`, for
    `correct`: without any answer, as all wrong; otherwise the answers that were given count."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.participants is None) == (self.power is None):
            raise ValueError("needs either `participants` (how many) or `power` (how sure)")
        ids = [one.id for one in self.hypotheses]
        if twice := sorted({one for one in ids if ids.count(one) > 1}):
            raise ValueError(f"two hypotheses are called {twice[0]!r}")
        if ("too_fast" in self.exclude) != (self.fastest_seconds is not None):
            raise ValueError("`exclude: [too_fast]` and `fastest_seconds` need each other")
        if ("off_protocol" in self.exclude) != (self.least_adherence is not None):
            raise ValueError("`exclude: [off_protocol]` and `least_adherence` need each other")
        return self

    @property
    def primary(self) -> tuple[Hypothesis, ...]:
        return tuple(one for one in self.hypotheses if one.role == "primary")

    def correction(self, family: str) -> Correction:
        return self.corrections.get(family, "holm")

    def corrected(self, family: str) -> tuple[Hypothesis, ...]:
        """Those corrected together: with looks the secondary ones, as the primary ones share alpha equally."""
        among = [one for one in self.hypotheses if self.looks is None or one.role == "secondary"]
        return tuple(one for one in among if one.family == family)
