"""The scores of instruments: their means, overall and by condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from app.analysis.arms import by_arm
from app.analysis.estimates import NUMBER, Estimate, EstimateGroup, Finding, estimate, slug
from app.analysis.intervals import codes, mean_of, number_of

COLUMNS = ("path", "instrument", "title", "score", "score_title", "value", "low", "high", "items", "arms")
"""The columns that are needed."""
METHOD = (
    "Scores follow the rules of each instrument's file: reverse items are turned, and there is no score where more "
    "items are unanswered than the rule allows. The 95 % interval of a mean is mean ± t standard errors, by leaving "
    "out one participant at a time (cluster jackknife; MacKinnon, Nielsen and Webb 2023), which for one score a "
    "participant is the usual s/√n; t has one degree of freedom less than there are participants."
)
CODE = "instrument_scores(instrument_frame(database, study, origin))"


def instrument_scores(frame: pd.DataFrame) -> tuple[Finding, ...]:
    """The mean of each score, and by condition; the standard deviation (n - 1) is in `further` as `sd`.

    Names: `instrument.mean.<instrument>.<score>` and `instrument.mean_by_arm.<instrument>.<score>.<factor>.<value>`;
    with `_at` and the path if several surveys ask the instrument.
    """
    return tuple(_finding(rows, name, place) for rows, name, place in by_score(frame))


def by_score(frame: pd.DataFrame) -> Iterator[tuple[pd.DataFrame, str, str]]:
    """The rows of each score at each place, with its name, and the place if there are several."""
    for (instrument, score), rows in frame.groupby(["instrument", "score"], sort=False):
        places = rows["path"].unique()
        for path in places:
            place = str(path) if len(places) > 1 else ""
            yield rows[rows["path"] == path], f"{slug(instrument)}.{slug(score)}", place


def of_newest_form(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of a score in the form that the last session had: other versions of a study may have an instrument with
    other items, or another scale, which cannot be put together."""
    sizes, newest = rows["items"].map(len), rows.iloc[-1]
    alike = (sizes == len(newest["items"])) & (rows["low"] == newest["low"]) & (rows["high"] == newest["high"])
    found: pd.DataFrame = rows[alike]
    return found


def full_title(rows: pd.DataFrame, place: str) -> str:
    """The title of a score: instrument, score, and the place if there are several."""
    newest = rows.iloc[-1]
    scored = f": {newest['score_title']}" if newest["score_title"] else f": {newest['score']}"
    return f"{newest['title']}{scored}{f', at {place}' if place else ''}"


def figure_name(what: str, name: str, place: str, *rest: str) -> str:
    """The name of a figure about a score."""
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
    estimates = tuple(_estimates(known, name, place, title, axis))
    return Finding(
        figure_name("mean", name, place), title, "scores", NUMBER, axis, estimates, METHOD, CODE, note=note.strip()
    )


def _estimates(known: pd.DataFrame, name: str, place: str, title: str, axis: tuple[float, float]) -> Iterator[Estimate]:
    if known.empty:
        return
    for arm, rows in by_arm(known):
        which = figure_name("mean_by_arm" if arm.value else "mean", name, place, *arm.value)
        yield _mean(rows, which, arm.label, arm.groups, f"{title} ({arm.label})" if arm.value else title, axis)


def _mean(
    rows: pd.DataFrame, name: str, label: str, groups: Mapping[str, str], title: str, axis: tuple[float, float]
) -> Estimate:
    values = rows["value"].to_numpy("float64")
    people = codes(rows["_session"])
    found = mean_of(values, people, scale=axis)
    sd = float(np.std(values, ddof=1)) if values.size > 1 else None
    spread = f", with a standard deviation of {sd:.2f}" if sd is not None else ""
    group = EstimateGroup(name, label, values.size, number_of(people), groups)
    further = {} if sd is None else {"sd": sd}
    return estimate(group, found, f"{title}: the mean was {{}}{spread}", NUMBER, "scores", further=further)
