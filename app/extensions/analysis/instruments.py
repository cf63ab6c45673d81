"""The scores of instruments that a study's surveys ask: their means, overall and by condition, and how reliable they
are.

For k items with the covariance matrix S (Cronbach 1951, Psychometrika 16:297, formula 2)

    alpha = k/(k - 1) * (1 - trace(S) / sum(S))

and with the loadings l and unique variances u of a model of one factor (McDonald 1999, Test Theory, formula 6.20b)

    omega = (sum l)^2 / ((sum l)^2 + sum u)

The model is fitted by maximum likelihood as Jöreskog did (1967, Psychometrika 32:443): for given unique variances the
best loadings are a scaled eigenvector, and the logarithms of the unique variances follow from Newton's method with
approximate second derivatives. A unique variance that runs towards 0 (a Heywood case) or no convergence means that
there is no omega. Two items determine no model of one factor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from app.extensions.analysis.base import AnalysisStep, analysis, by_arm, call, table
from app.extensions.analysis.data_frames import instrument_frame
from app.extensions.analysis.estimates import NUMBER, Estimate, Finding, estimate, finding, mean_estimate, slug
from app.extensions.analysis.intervals import Values, draws, middle

COLUMNS = ("path", "instrument", "title", "score", "score_title", "value", "low", "high", "items", "arms")


def instrument_scores(frame: pd.DataFrame) -> tuple[Finding, ...]:
    """The mean of each score, and by condition; the standard deviation (n - 1) is in `further` as `sd`."""
    return tuple(_finding(rows, name, place) for rows, name, place in by_score(frame))


def by_score(frame: pd.DataFrame) -> Iterator[tuple[pd.DataFrame, str, str]]:
    """The rows of each score at each place, with its name, and the place if there are several."""
    for (instrument, score), rows in frame.groupby(["instrument", "score"], sort=False):
        places = rows["path"].unique()
        for path in places:
            place = str(path) if len(places) > 1 else ""
            yield rows[rows["path"] == path], f"{slug(instrument)}.{slug(score)}", place


def of_newest_form(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows in the form of the last session: other versions may have other items, or another scale."""
    sizes, newest = rows["items"].map(len), rows.iloc[-1]
    alike = (sizes == len(newest["items"])) & (rows["low"] == newest["low"]) & (rows["high"] == newest["high"])
    found: pd.DataFrame = rows[alike]
    return found


def full_title(rows: pd.DataFrame, place: str) -> str:
    newest = rows.iloc[-1]
    scored = f": {newest['score_title']}" if newest["score_title"] else f": {newest['score']}"
    return f"{newest['title']}{scored}{f', at {place}' if place else ''}"


def figure_name(what: str, name: str, place: str, *rest: str) -> str:
    parts = [f"instrument.{what}_at", name, slug(place)] if place else [f"instrument.{what}", name]
    return ".".join([*parts, *map(slug, rest)])


def _finding(every: pd.DataFrame, name: str, place: str) -> Finding:
    rows = of_newest_form(every)
    first = rows.iloc[0]
    axis = (float(first["low"]), float(first["high"]))
    known = rows[rows["value"].notna()]
    title = full_title(rows, place)
    unscored = len(rows) - len(known)
    others = len(every) - len(rows)
    note = f"{unscored:,} of {len(rows):,} without a score, as too many items were not answered. " if unscored else ""
    note += f"{others:,} of another form of the instrument, in an earlier version, are left out." if others else ""
    means = _means(known, name, place, title, axis)
    name = figure_name("mean", name, place)
    return finding("instrument.mean", means, name=name, words={"title": title}, axis=axis, note=note.strip())


def _means(known: pd.DataFrame, name: str, place: str, title: str, axis: tuple[float, float]) -> Iterator[Estimate]:
    for arm, rows in by_arm(known) if len(known) else ():
        values = rows["value"].to_numpy("float64")
        sd = {"sd": float(np.std(values, ddof=1))} if values.size > 1 else {}
        said = f"{title} ({arm.label})" if arm.value else title
        said = f"{said}: the mean was {{}}" + (f", with a standard deviation of {sd['sd']:.2f}" if sd else "")
        which = figure_name("mean_by_arm" if arm.value else "mean", name, place, *arm.value)
        figure = (which, arm.label, arm.groups, said, values, rows["_session"])
        yield mean_estimate(*figure, counts="scores", scale=axis, further=sd)


ITEM_COLUMNS = ("path", "instrument", "title", "score", "score_title", "low", "high", "items")
LEAST_ITEMS_OMEGA = 3
# When Newton's method ends: after so many steps, with a step so small, or at a unique variance so small.
MOST_TURNS, CLOSE_ENOUGH, LEAST_UNIQUE = 500, 1e-11, 1e-4
Matrices = npt.NDArray[np.float64]


def cronbach_alpha(covariances: Matrices) -> Values:
    """Cronbach's alpha of covariance matrices of items, of shape (..., k, k); NaN if the sum does not vary."""
    size = covariances.shape[-1]
    whole = covariances.sum((-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(whole > 0, np.trace(covariances, axis1=-2, axis2=-1) / whole, np.nan)
    return np.asarray(size / (size - 1) * (1 - share))


def omega_total(covariances: Matrices) -> Values:
    """McDonald's omega total of covariance matrices of at least three items, of shape (..., k, k); NaN where a model of
    one factor has no proper solution."""
    size = covariances.shape[-1]
    flat = covariances.reshape(-1, size, size)
    found = np.full(len(flat), np.nan)
    spread = np.sqrt(np.einsum("nii->ni", flat))
    sound = (spread > 0).all(1)
    scales = spread[sound]
    loadings, unique = one_factor(flat[sound] / (scales[:, :, None] * scales[:, None, :]))
    common = (loadings * scales).sum(1) ** 2
    with np.errstate(invalid="ignore"):
        found[sound] = common / (common + (unique * scales**2).sum(1))
    return found.reshape(covariances.shape[:-2])


def one_factor(correlations: Matrices) -> tuple[Values, Values]:
    """The maximum-likelihood loadings and unique variances, each of shape (n, k); NaN without a proper solution."""
    count, size, _ = correlations.shape
    loadings, unique = np.full((count, size), np.nan), np.full((count, size), np.nan)
    left, logs = np.arange(count), np.full((count, size), np.log(0.5))
    for _ in range(MOST_TURNS):
        if not left.size:
            break
        root = np.exp(logs / 2)
        values, vectors = np.linalg.eigh(correlations[left] / (root[:, :, None] * root[:, None, :]))
        rest = vectors[:, :, :-1]
        slope = ((1 - values[:, None, :-1]) * rest**2).sum(-1)
        curvature = (rest @ rest.transpose(0, 2, 1)) ** 2
        step = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
        largest = np.abs(step).max(1)
        done = (largest < CLOSE_ENOUGH) & (values[:, -1] > 1)
        loadings[left[done]] = (root * vectors[:, :, -1] * np.sqrt(np.maximum(values[:, -1:] - 1, 0)))[done]
        unique[left[done]] = root[done] ** 2
        logs = logs - step / np.maximum(largest, 1)[:, None]
        going = ~done & (logs > np.log(LEAST_UNIQUE)).all(1)
        left, logs = left[going], logs[going]
    return loadings, unique


@analysis
def reliabilities(frame: pd.DataFrame) -> Iterator[Finding]:
    estimates = (one for rows, name, place in by_score(frame) for one in _of_score(rows, name, place))
    yield finding("instrument.reliability", estimates, columns=("coefficient",))


def _of_score(every: pd.DataFrame, name: str, place: str) -> Iterator[Estimate]:
    rows = of_newest_form(every)
    answers = np.array(rows.drop_duplicates("_session")["items"].tolist(), dtype="float64")
    answers = answers[~np.isnan(answers).any(1)] if answers.size else answers.reshape(0, 0)
    people, size = answers.shape
    if people < 2 or size < 2:
        return
    title = full_title(rows, place)
    whole, drawn = np.cov(answers, rowvar=False), _drawn(answers)
    kinds = [("alpha", "Cronbach's alpha", cronbach_alpha)]
    if size >= LEAST_ITEMS_OMEGA:
        kinds.append(("omega", "McDonald's omega", omega_total))
    for kind, words, compute in kinds:
        value = float(compute(whole))
        if np.isnan(value):
            continue
        found = middle(value, compute(drawn), people)
        found = replace(found, high=None if found.high is None else min(found.high, 1.0))
        figure = (figure_name(kind, name, place), f"{title}: {words}", {"score": title, "coefficient": words})
        yield estimate(*figure, (people, people), found, f"{words} of {title} was {{}}", NUMBER, "participants")


def _drawn(answers: Values) -> Matrices:
    """The covariance matrices of the bootstrap samples, of shape (samples, k, k)."""
    people = len(answers)
    weights = np.array(list(draws(people)), dtype="float64")
    products = answers[:, :, None] * answers[:, None, :]
    means = weights @ answers / people
    squares = np.tensordot(weights, products, axes=1) / people
    return np.asarray((squares - means[:, :, None] * means[:, None, :]) * people / (people - 1))


_SCORES, _ITEMS = table(instrument_frame, COLUMNS), table(instrument_frame, ITEM_COLUMNS)
PARTS: tuple[AnalysisStep, ...] = (
    AnalysisStep(call(instrument_scores, _SCORES), quick=True),
    AnalysisStep(call(reliabilities, _ITEMS)),
)
