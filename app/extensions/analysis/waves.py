"""Studies with waves: who came back, how answers changed from wave to wave, and what the missing ones could change.

Attrition is of the participants who completed the first wave; its test is in `storage.reports.attrition`. Growth is a
linear mixed model (Laird and Ware 1982, Biometrics 38:963), fitted by REML with statsmodels' MixedLM:

    outcome = intercept of the arm + slope of the arm * wave + (intercept + slope * wave of the participant) + error

with t of participants - arms degrees of freedom: where nobody misses a wave, the t test of participants' own slopes.

Who is missing in the last wave could change the difference of two arms: Lee's bounds (2009, Review of Economic Studies
76:1071) cut as many of the highest or lowest answers of the arm with more answers as make both shares equal. They hold
if an arm makes people only stay, or only leave.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, nan, sqrt

import numpy as np
import pandas as pd

from app.extensions.analysis.base import AnalysisStep, analysis, by_arm, call, compared_factors, table
from app.extensions.analysis.data_frames import SESSION, instrument_frame, survey_frame, wave_frame
from app.extensions.analysis.estimates import NUMBER, Estimate, Finding, estimate, finding, share_estimate, slug
from app.extensions.analysis.intervals import (
    Codes,
    Interval,
    Values,
    beyond,
    codes,
    draws,
    holm,
    middle,
    number_of,
    student,
)
from app.extensions.analysis.survey import AVERAGED, summary_kind
from problems.errors import install_line
from storage.reports.attrition import DONE, PENDING, attrition_test

INSTALL = f"The mixed model needs a package that is not installed: {install_line('analysis')}"


@analysis
def attrition(waves: pd.DataFrame) -> Iterator[Finding]:
    rows, name = waves[(waves["number"] > 0) & (waves["state"] != PENDING)], "waves.attrition"
    estimates = tuple(
        share_estimate(
            ".".join([name, slug(wave), *map(slug, arm.value)]), f"{wave} ({arm.label})", {"wave": wave, **arm.groups},
            f"{{}} did not complete the wave {wave} ({arm.label})", own["state"] != DONE, own[SESSION],
            counts="participants",
        )
        for arm, those in by_arm(rows)
        for wave, own in ((str(wave), own) for wave, own in those.groupby("wave", sort=False))
    )  # fmt: skip
    columns = tuple(compared_factors(rows))
    yield finding(name, estimates, columns=columns)
    tests = tuple(_attrition_tests(waves))
    axis = (0, max([one.value for one in tests], default=1.0))
    yield finding(f"{name}_test", tests, axis=axis)


def _attrition_tests(waves: pd.DataFrame) -> Iterator[Estimate]:
    people = waves[waves["number"] > 0].groupby(SESSION, sort=False)
    states, found = [tuple(own) for _, own in people["state"]], []
    for factor, values in compared_factors(waves).items():
        if tested := attrition_test([values.index(arms[factor]) for arms in people["arms"].first()], states):
            found.append((factor, *tested))
    for (factor, statistic, p), adjusted in zip(found, holm(np.array([p for *_, p in found])), strict=True):
        further = {"p": p, **({"p_adjusted": float(adjusted)} if len(found) > 1 else {})}
        known = (f"waves.attrition_test.{slug(factor)}", factor, {"factor": factor}, (len(states), len(states)))
        said, interval = f"Attrition by {factor}: log-rank statistic {{}}", Interval(statistic, why="A test statistic.")
        yield estimate(*known, interval, said, NUMBER, "participants", further=further)


@dataclass(frozen=True, slots=True)
class WaveOutcome:
    """A number that several waves ask for; `rows` are the answers: `person`, `wave` (from 0), `outcome`, `arms`."""

    name: str
    title: str
    rows: pd.DataFrame


def wave_outcomes(waves: pd.DataFrame, answers: pd.DataFrame, scores: pd.DataFrame) -> Iterator[WaveOutcome]:
    """The numeric questions and scores of the same name at the same place in several waves."""
    numeric = np.array([summary_kind(field) == AVERAGED for field in answers["field"]], dtype=bool)
    asked = answers[answers["value"].notna() & numeric]
    asked = asked.assign(name=[one.name for one in asked["field"]], title=[one.text for one in asked["field"]])
    scored = scores.assign(name=scores["instrument"] + "_" + scores["score"]).dropna(subset="value")
    numbers = pd.concat([asked, scored.assign(title=scored["title"] + " " + scored["score_title"])])
    if numbers.empty:
        return
    places = numbers["path"].str.partition("/")
    numbers = numbers.assign(wave=places[0], place=places[2], outcome=numbers["value"].astype(float))
    known = waves[["wave", "number", "arms", SESSION]]
    found = numbers.merge(known, on=["wave", SESSION]).drop(columns="wave").rename(columns={"number": "wave"})
    found.attrs = waves.attrs  # which a merge drops
    names = found[["place", "name"]].drop_duplicates()["name"].tolist()
    for (place, name), rows in found.rename(columns={SESSION: "person"}).groupby(["place", "name"], sort=False):
        if rows["wave"].nunique() > 1:
            called = name if names.count(name) == 1 else f"{place}_{name}".replace("/", "_")
            yield WaveOutcome(slug(called), str(rows["title"].iloc[-1]), rows)


def _by_factor(rows: pd.DataFrame) -> Iterator[tuple[str, tuple[str, ...], pd.DataFrame]]:
    """Each factor with its values, and the rows with their numbers as `arm`; one arm for all without factors."""
    for factor, values in (compared_factors(rows) or {"": ("all",)}).items():
        own = np.array([values.index(arms[factor]) if factor else 0 for arms in rows["arms"]])
        yield factor, values, rows.assign(arm=own)


@dataclass(frozen=True, slots=True)
class GrowthModel:
    slopes: Values
    covariance: Values
    freedom: int

    def contrast(self, weights: Values) -> tuple[Interval, float]:
        """A weighted sum of the slopes with its interval, and its p against 0."""
        value, error = float(weights @ self.slopes), sqrt(float(weights @ self.covariance @ weights))
        half = student(self.freedom) * error
        return Interval(value, value - half, value + half), beyond(abs(value) / error, self.freedom)


def growth_model(people: Codes, arms: Codes, waves: Values, outcomes: Values) -> GrowthModel | str:
    """Fit the model to an outcome in each wave of each participant; the reason if that is not possible."""
    try:
        from statsmodels.regression.mixed_linear_model import MixedLM  # type: ignore[import-untyped]
    except ImportError:
        return INSTALL
    count, freedom = number_of(arms), number_of(people) - number_of(arms)
    if freedom < 1 or np.bincount(people).max() < 2 or np.ptp(outcomes) == 0:
        return "there are too few answers, or all are equal"
    own, random = np.eye(count)[arms], np.column_stack([np.ones(waves.size), waves])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they warn of is checked below
        try:
            model = MixedLM(outcomes, np.hstack([own, own * waves[:, None]]), people, random)
            # BFGS often fails where the slopes hardly vary; Powell's method, without derivatives, does not.
            fitted = model.fit(reml=True, method=["bfgs", "powell"])
            covariance = np.asarray(fitted.cov_params())[count : 2 * count, count : 2 * count]
        except (np.linalg.LinAlgError, ValueError) as error:
            return str(error)
    if not fitted.converged or not np.isfinite(covariance).all() or np.diag(covariance).min() <= 0:
        return "the optimiser did not converge"
    return GrowthModel(np.asarray(fitted.fe_params)[count:], covariance, freedom)


def growth(waves: pd.DataFrame, answers: pd.DataFrame, scores: pd.DataFrame) -> tuple[Finding, ...]:
    """The change of each outcome from wave to wave in each arm, and that of other arms minus that of the first; only a
    note where the model cannot be fitted, or its library is not installed."""
    return tuple(_growth(one) for one in wave_outcomes(waves, answers, scores))


def _growth(outcome: WaveOutcome) -> Finding:
    notes, estimates = [], list[Estimate]()
    for factor, values, rows in _by_factor(outcome.rows):
        columns = rows["arm"].to_numpy(), rows["wave"].to_numpy(float), rows["outcome"].to_numpy(float)
        fitted, size = growth_model(codes(rows["person"]), *columns), (len(rows), rows["person"].nunique())
        if isinstance(fitted, str):
            notes.append(f"The mixed model{factor and f' by {factor}'} could not be fitted: {fitted}.")
        else:
            estimates += _slopes(outcome, fitted, factor, values, size)
    known = {"outcome": outcome.name, "title": outcome.title}
    return finding("waves.growth.{outcome}", estimates, axis=_around_0(estimates), note=" ".join(notes), words=known)


def _slopes(
    outcome: WaveOutcome, model: GrowthModel, factor: str, values: Sequence[str], size: tuple[int, int]
) -> Iterator[Estimate]:
    each_arm = np.eye(len(values))
    for value, own in zip(values, each_arm, strict=True):
        name, label = ".".join([outcome.name, *map(slug, (factor, value) if factor else ())]), f"{factor}: {value}"
        groups, kinds = {factor or "group": value}, [("growth", name, label if factor else "all", own)]
        if value != values[0]:
            versus = f"{name}.{slug(values[0])}"
            kinds.append(("growth_difference", versus, f"{label} minus {values[0]}", own - each_arm[0]))
        for kind, called, words, weights in kinds:
            interval, p = model.contrast(weights)
            said = f"Change of {outcome.title} from one wave to the next ({words}): {{}}"
            known = (f"waves.{kind}.{called}", words, {**groups, "figure": kind}, size, interval, said)
            yield estimate(*known, NUMBER, "answers", further={"p": p})


def _around_0(estimates: Sequence[Estimate]) -> tuple[float, float]:
    reach = max([abs(end) for one in estimates for end in (one.value, one.low or 0, one.high or 0)], default=1.0)
    return -reach, reach


def lee_bounds(one: Values, other: Values) -> tuple[float, float]:
    """Bounds of the mean of `one` minus that of `other`, where NaN are missing; NaN if all of an arm are."""
    shares = [float(np.mean(~np.isnan(arm))) if arm.size else 0 for arm in (one, other)]
    if min(shares) == 0:
        return nan, nan
    (low, high), (least, most) = (_ends(arm, min(shares) / own) for arm, own in zip((one, other), shares, strict=True))
    return low - most, high - least


def _ends(values: Values, part: float) -> tuple[float, float]:
    """The means of the lowest and of the highest `part` of the values that are there."""
    known = np.sort(values[~np.isnan(values)])
    weights = np.clip(part * known.size - np.arange(known.size), 0, 1)
    return float(weights @ known / weights.sum()), float(weights @ known[::-1] / weights.sum())


def _differences(one: Values, other: Values) -> tuple[float, float, float]:
    bounds = lee_bounds(one, other)
    return float(np.nanmean(one) - np.nanmean(other)) if isfinite(bounds[0]) else nan, *bounds


def sensitivity(waves: pd.DataFrame, answers: pd.DataFrame, scores: pd.DataFrame) -> tuple[Finding, ...]:
    found = []
    for one in wave_outcomes(waves, answers, scores):
        last = one.rows["wave"].max()
        given = one.rows[one.rows["wave"] == last].set_index("person")["outcome"]
        people = waves[(waves["number"] == last) & (waves["state"] != PENDING)]
        rows = people.assign(outcome=people[SESSION].map(given))
        estimates = tuple(
            figure
            for factor, values, those in _by_factor(rows)
            for arm in range(1, len(values))
            for figure in _bounds(one, factor, (values[arm], values[0]), those[those["arm"].isin([0, arm])])
        )
        known = {"outcome": one.name, "title": one.title}
        found.append(finding("waves.bounds.{outcome}", estimates, axis=_around_0(estimates), words=known))
    return tuple(one for one in found if one.estimates)


def _bounds(outcome: WaveOutcome, factor: str, values: tuple[str, str], rows: pd.DataFrame) -> Iterator[Estimate]:
    """The bounds of a difference between two arms; nothing if nobody is missing."""
    own, given, size = rows["arm"].to_numpy() > 0, rows["outcome"].to_numpy(float), len(rows)
    if not (missing := int(np.isnan(given).sum())):
        return
    samples = (np.repeat(np.arange(size), times) for times in draws(size))
    drawn = np.array([_differences(given[n][own[n]], given[n][~own[n]]) for n in samples])
    figures = zip(("observed", "lower", "upper"), _differences(given[own], given[~own]), drawn.T, strict=True)
    for kind, figure, several in figures:
        if isfinite(figure):
            label = f"{factor}: {values[0]} minus {values[1]}, {kind}"
            name = ".".join(["waves.bounds", outcome.name, kind, *map(slug, (factor, *values))])
            known = (name, label, {factor: values[0], "bound": kind}, (size, size), middle(figure, several, size))
            said, further = f"{outcome.title} ({label}): {{}}", {"missing": float(missing)}
            yield estimate(*known, said, NUMBER, "participants", further=further)


_WAVES = table(wave_frame, ("wave", "number", "state", "arms"))
_ANSWERS = table(survey_frame, ("path", "field", "value"))
_SCORED = ("path", "instrument", "title", "score", "score_title", "value")
_SCORES = table(instrument_frame, _SCORED)
PARTS: tuple[AnalysisStep, ...] = (
    AnalysisStep(call(attrition, _WAVES), quick=True),
    AnalysisStep(call(growth, _WAVES, _ANSWERS, _SCORES)),
    AnalysisStep(call(sensitivity, _WAVES, _ANSWERS, _SCORES)),
)
