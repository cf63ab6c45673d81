"""The raters: how many of each group there are, and how long they took for an answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from app.analysis.bootstrap import DRAWN, draws, middle
from app.analysis.dices.rater_pool import PROFILE
from app.analysis.dices.unsafe import values_of
from app.analysis.estimates import COUNT, NUMBER, Estimate, EstimateGroup, Finding, estimate, slug
from app.analysis.intervals import Interval, Values

TIME = "answer_time_ms"
ALL = "all"
NO_INTERVAL = "A count."
RATERS = "The number of raters, by what they said about themselves."
TIMES = (
    "The median over raters of each rater's median time for a conversation, in seconds. The 95 % interval is "
    f"{DRAWN.replace('participants', 'raters')}."
)


def rater_profiles(ratings: pd.DataFrame, edition: str) -> tuple[Finding, ...]:
    """The number of raters of each group, and their median answer time if the edition has times.

    Names: `dices.raters.<axis>.<group>`, with the `share` of the raters who gave the information in `further`;
    `dices.answer_time.<axis>.<group>` in seconds, with the `lower_quartile` and `upper_quartile` of single ratings in
    `further`. `all.all` is of all raters. Groups that do not occur are absent.
    """
    profiles = _profiles(ratings)
    code = f'rater_profiles(frame(database, study, "{edition.replace("-", "_")}", origin), "{edition}")'
    people = tuple(_counts(profiles))
    times = tuple(_times(ratings, profiles)) if TIME in ratings else ()
    most = max([1.0, *(one.high or one.value for one in times)])
    found = (
        Finding(
            "dices.raters", f"Raters ({edition})", "raters", COUNT, (0, max(1, len(profiles))), people, RATERS, code
        ),
        Finding(
            "dices.answer_time",
            f"Answer times in seconds ({edition})",
            "ratings",
            NUMBER,
            (0, most),
            times,
            TIMES,
            code,
        ),
    )
    return tuple(finding for finding in found if finding.estimates)


def _profiles(ratings: pd.DataFrame) -> pd.DataFrame:
    """A row for each rater: the columns of the profile, from the first row that has them; None if not known."""
    profiles = ratings[[name for name in PROFILE if name in ratings]].astype(object)
    return profiles.where(profiles.notna() & (profiles != ""), None).groupby(ratings["rater_id"]).first()


def _counts(profiles: pd.DataFrame) -> Iterator[Estimate]:
    if len(profiles):
        yield _count(ALL, ALL, len(profiles), f"{len(profiles):,} raters.", 1.0)
    for column in map(str, profiles):
        known = profiles[profiles[column].notna()]
        axis = column.removeprefix("rater_")
        for value in values_of(known, column):
            number = int((known[column] == value).sum())
            sentence = f"{number:,} of the {len(known):,} raters who gave their {axis} answered {value}."
            yield _count(axis, value, number, sentence, number / len(known))


def _count(axis: str, value: str, number: int, sentence: str, share: float) -> Estimate:
    sizes = (float(number), None, None, number, number)
    name, groups = f"dices.raters.{axis}.{slug(value)}", {"axis": axis, "group": value}
    return Estimate(name, value, *sizes, groups, sentence, NO_INTERVAL, {"share": share})


def _times(ratings: pd.DataFrame, profiles: pd.DataFrame) -> Iterator[Estimate]:
    timed = ratings[ratings[TIME].notna()]
    seconds = timed[TIME].astype("float64") / 1000
    yield from _time(seconds, timed["rater_id"], ALL, ALL)
    for column in map(str, profiles):
        group = timed["rater_id"].map(profiles[column])
        for value in values_of(profiles[profiles[column].notna()], column):
            own = group == value
            yield from _time(seconds[own], timed.loc[own, "rater_id"], column.removeprefix("rater_"), value)


def _time(seconds: pd.Series, raters: pd.Series, axis: str, value: str) -> Iterator[Estimate]:
    if seconds.empty:
        return
    medians = seconds.groupby(raters).median().to_numpy()
    name = f"dices.answer_time.{axis}.{slug(value)}"
    group = EstimateGroup(name, value, len(seconds), medians.size, {"axis": axis, "group": value})
    low, high = seconds.quantile([0.25, 0.75])
    who = "raters" if axis == ALL else f"raters of the group “{value}” ({axis})"
    said = f"The median answer time of {who} was {{}} s"
    further = {"lower_quartile": float(low), "upper_quartile": float(high)}
    yield estimate(group, _median(medians), said, NUMBER, "ratings", further=further)


def _median(values: Values) -> Interval:
    drawn = [np.median(np.repeat(values, times)) for times in draws(values.size)] if values.size > 1 else []
    return middle(float(np.median(values)), np.asarray(drawn), values.size)
