"""The raters: how many of each group there are, and how long they took for an answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from app.analysis.bootstrap import DRAWN, draws, middle
from app.analysis.dices.rater_pool import PROFILE
from app.analysis.dices.unsafe import values_of
from app.analysis.estimates import NUMBER, SHARE, Estimate, EstimateGroup, Finding, estimate, slug
from app.analysis.intervals import Interval, Values, share_of

TIME = "answer_time_ms"
ALL = "all"
RATERS = (
    "Each rater counts once, among the raters who gave the information. The 95 % interval is Wilson's with Student's "
    "t, for the share in the population from which raters come."
)
TIMES = (
    "The median over raters of each rater's median time for a conversation, in seconds. The 95 % interval is "
    f"{DRAWN.replace('participants', 'raters')}."
)


def rater_profiles(ratings: pd.DataFrame, edition: str) -> tuple[Finding, ...]:
    """The share of raters of each group, and the median answer time of each group if the edition has times.

    Names: `dices.raters.<axis>.<group>` with the number of raters as `count` in `further`;
    `dices.answer_time.<axis>.<group>` in seconds, also for `all.all`, with the `lower_quartile` and `upper_quartile` of
    single ratings in `further`. Groups that do not occur are absent.
    """
    profiles = _profiles(ratings)
    code = f'rater_profiles(frame(database, study, "{edition.replace("-", "_")}", origin), "{edition}")'
    people = tuple(one for column in profiles for one in _shares(profiles, column))
    times = tuple(_times(ratings, profiles)) if TIME in ratings else ()
    most = max([1.0, *(one.high or one.value for one in times)])
    found = (
        Finding("dices.raters", f"Raters ({edition})", "raters", SHARE, (0, 1), people, RATERS, code),
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
    told = ratings[[name for name in PROFILE if name in ratings]].astype(object)
    return told.where(told.notna() & (told != ""), None).groupby(ratings["rater_id"]).first()


def _shares(profiles: pd.DataFrame, column: str) -> Iterator[Estimate]:
    known = profiles[profiles[column].notna()]
    axis = column.removeprefix("rater_")
    for value in values_of(known, column):
        hits = (known[column] == value).to_numpy().astype(np.float64)
        group = EstimateGroup(
            f"dices.raters.{axis}.{slug(value)}", value, len(known), len(known), {"axis": axis, "group": value}
        )
        said = f"{{}} of raters ({int(hits.sum()):,}) gave {value} as their {axis}"
        found = share_of(hits, np.arange(hits.size))
        yield estimate(group, found, said, SHARE, "participants", further={"count": float(hits.sum())})


def _times(ratings: pd.DataFrame, profiles: pd.DataFrame) -> Iterator[Estimate]:
    timed = ratings[ratings[TIME].notna()]
    seconds = timed[TIME].astype("float64") / 1000
    yield from _time(seconds, timed["rater_id"], ALL, ALL)
    for column in profiles:
        whose = timed["rater_id"].map(profiles[column])
        for value in values_of(profiles[profiles[column].notna()], column):
            own = whose == value
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
