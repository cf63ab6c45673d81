"""The scores of instruments: their means, overall and by condition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from app.extensions.analysis.arms import by_arm
from app.extensions.analysis.estimates import NUMBER, Estimate, Finding, mean_estimate, slug

COLUMNS = ("path", "instrument", "title", "score", "score_title", "value", "low", "high", "items", "arms")
METHOD = (
    "Scores follow the rules of each instrument's file: reverse items are turned, and there is no score where more "
    "items are unanswered than the rule allows. The 95 % interval of a mean is mean ± t standard errors, by leaving "
    "out one participant at a time (cluster jackknife; MacKinnon, Nielsen and Webb 2023), which for one score a "
    "participant is the usual s/√n; t has one degree of freedom less than there are participants."
)


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
    name, estimates = figure_name("mean", name, place), tuple(_means(known, name, place, title, axis))
    return Finding(name, title, "scores", NUMBER, axis, estimates, METHOD, note=note.strip())


def _means(known: pd.DataFrame, name: str, place: str, title: str, axis: tuple[float, float]) -> Iterator[Estimate]:
    for arm, rows in by_arm(known) if len(known) else ():
        values = rows["value"].to_numpy("float64")
        sd = {"sd": float(np.std(values, ddof=1))} if values.size > 1 else {}
        said = f"{title} ({arm.label})" if arm.value else title
        said = f"{said}: the mean was {{}}" + (f", with a standard deviation of {sd['sd']:.2f}" if sd else "")
        which = figure_name("mean_by_arm" if arm.value else "mean", name, place, *arm.value)
        figure = (which, arm.label, arm.groups, said, values, rows["_session"])
        yield mean_estimate(*figure, counts="scores", scale=axis, further=sd)
