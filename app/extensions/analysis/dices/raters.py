"""The raters: their profiles and answer times, and agreement without those who may have been careless.

Raters with possibly careless ratings were fast, gave the same answer nearly always, or were removed. DICES removed
raters who took suspiciously little time or gave everything the same label; its thresholds are not published. FAST_MS
lies between the medians of the DICES-350 raters who were removed for speed (33 to 44 s) and of the raters who were kept
(45.2 s and more). The lists are those of the release's README ("Removed raters").
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np
import pandas as pd

from app.extensions.analysis.base import analysis
from app.extensions.analysis.dices.agreement import BOTH, ORDER, alpha, alpha_interval, counted, marked, profiles_of
from app.extensions.analysis.dices.answer_shares import values_of
from app.extensions.analysis.estimates import COUNT, NUMBER, Estimate, Finding, count_estimate, estimate, slug
from app.extensions.analysis.intervals import DRAWN, draws, middle
from storage.datasets.describe.markdown import count

# A rater whose median answer took less than this was fast.
FAST_MS = 45_000
# A rater with at least this share of equal answers gave the same answer nearly always.
SAME = 0.95
# Raters with fewer answers are not checked for speed or equal answers.
LEAST = 20
_REMOVED_350 = """
    297514565398139 297515609163939 297515750682315 297515617432733 297541515566649 297541515769980 297515629971478
    297059995361243 297541522412126 297540556928761 297541321453321 297540562350921 297540983991638 297060365288109
    297514543980607 297515729806999 297541271027233 296709611112092 296709543131761
"""
_REMOVED_990 = """
    296768824962581 296740172100277 296729424498056 296835612486158 297212198239077 296740254381555 296740049152799
    297212002905763 296740761150184 296708974347177 296770194464643 296768399729683
"""
# The raters who are removed in the release, by edition: 19 of 123, 12 of 173 (these from one public file only).
REMOVED: Mapping[str, frozenset[str]] = {
    "dices-350": frozenset(_REMOVED_350.split()), "dices-990": frozenset(_REMOVED_990.split())
}  # fmt: skip
REASONS: Mapping[str, str] = {
    "fast": f"median time under {FAST_MS / 1000:g} s",
    "same": f"the same answer in at least {100 * SAME:g} % of ratings",
    "removed": "removed in the release",
}
TIME = "answer_time_ms"
ALL = "all"
RATERS = "The number of raters, by what they said about themselves."
TIMES = (
    "The median over raters of each rater's median time for a conversation, in seconds. The 95 % interval is "
    f"{DRAWN.replace('participants', 'raters')}."
)


def raters(
    ratings: pd.DataFrame, edition: str = "", *, column: str = "Q_overall", fast_ms: float = FAST_MS, same: float = SAME
) -> pd.DataFrame:
    """A row for each rater by id: `ratings`, `median_ms`, `most_common`, `share` of it, and `reasons` against them.

    `reasons` is a tuple of `fast` (a median time under `fast_ms`), `same` (a share of at least `same`) and `removed`
    (in the release of this edition). DICES-990 has no times. Raters with fewer than 20 ratings are neither fast nor
    same.
    """
    given = ratings[ratings[column].isin(ORDER)]
    by_rater = given.groupby("rater_id", sort=True)
    shares = pd.crosstab(given["rater_id"], given[column], normalize="index").reindex(columns=list(ORDER), fill_value=0)
    found = pd.DataFrame({"ratings": by_rater.size()})
    times = given["answer_time_ms"] if "answer_time_ms" in given.columns else pd.Series(np.nan, given.index)
    found["median_ms"] = times.astype("float64").groupby(given["rater_id"]).median()
    found["most_common"] = shares.idxmax(axis=1) if len(shares) else []
    found["share"] = shares.max(axis=1)
    enough = found["ratings"] >= LEAST
    against = {
        "fast": enough & (found["median_ms"] < fast_ms),
        "same": enough & (found["share"] >= same),
        "removed": pd.Series(found.index.isin(REMOVED.get(edition, frozenset())), found.index),
    }
    held = pd.DataFrame(against, index=found.index)
    found["reasons"] = [tuple(reason for reason in against if row[reason]) for _, row in held.iterrows()]
    return found


def without(ratings: pd.DataFrame, removed: Collection[str]) -> pd.DataFrame:
    return ratings[~ratings["rater_id"].isin(removed)]


@analysis
def filtered(ratings: pd.DataFrame, edition: str, column: str = "Q_overall") -> Iterator[Finding]:
    """Nominal alpha without raters, for each reason that applies to any; `further` has `before`, `removed` (raters) and
    `change`."""
    found = raters(ratings, edition, column=column)
    wanted = {reason: found.index[[reason in each for each in found["reasons"]]] for reason in REASONS}
    if len(wanted["fast"]) and len(wanted["same"]):
        wanted["fast_or_same"] = wanted["fast"].union(wanted["same"])
    given = ratings[ratings[column].isin(ORDER)]
    before = alpha(counted(given, column))
    alphas = []
    for reason, ids in wanted.items():
        rest = without(given, set(ids))
        after = alpha_interval(marked(rest, column), "nominal")
        if not len(ids) or np.isnan(after.value) or np.isnan(before):
            continue
        words = REASONS.get(reason, "fast, or nearly always the same answer")
        known = (f"dices.filtered.{reason}", f"without: {words}", {"reason": reason})
        size = (len(rest), rest["rater_id"].nunique())
        further = {"before": before, "change": after.value - before, "removed": float(len(ids))}
        said = f"Without {count(len(ids), 'rater')} ({words}), the alpha of {column} was {{}}; with them it was "
        said += f"{before:.2f}"
        alphas.append(estimate(*known, size, after, said, NUMBER, "ratings", further=further))
    yield Finding(
        "dices.filtered", f"Agreement without some raters ({edition})", "ratings", NUMBER, (-0.2, 1), tuple(alphas),
        f"Nominal alpha of {column} without raters to whom a reason applies: {'; '.join(REASONS.values())}. DICES's "
        f"own thresholds are not published. The first two reasons need {LEAST} ratings of a rater. {BOTH}",
        reference=0.0,
    )  # fmt: skip


@analysis
def rater_profiles(ratings: pd.DataFrame, edition: str) -> Iterator[Finding]:
    """The number of raters of each group, and their median answer time if the edition has times.

    `further` has the `share` of the raters who gave the information; of times, which are in seconds, the
    `lower_quartile` and `upper_quartile` of single ratings. `all.all` is of all raters.
    """
    profiles = profiles_of(ratings, ratings["rater_id"])
    most = max(1, len(profiles))
    people = tuple(_counts(profiles))
    yield Finding("dices.raters", f"Raters ({edition})", "raters", COUNT, (0, most), people, RATERS)
    times = tuple(_times(ratings, profiles)) if TIME in ratings else ()
    axis, title = (0, max([1.0, *(one.high or one.value for one in times)])), f"Answer times in seconds ({edition})"
    yield Finding("dices.answer_time", title, "ratings", NUMBER, axis, times, TIMES)


def _counts(profiles: pd.DataFrame) -> Iterator[Estimate]:
    def counted_raters(axis: str, value: str, number: int, sentence: str, share: float) -> Estimate:
        name, groups = f"dices.raters.{axis}.{slug(value)}", {"axis": axis, "group": value}
        return count_estimate(name, value, groups, number, number, sentence, {"share": share})

    if len(profiles):
        yield counted_raters(ALL, ALL, len(profiles), f"{len(profiles):,} raters.", 1.0)
    for column in map(str, profiles):
        known = profiles[profiles[column].notna()]
        axis = column.removeprefix("rater_")
        for value in values_of(known, column):
            number = int((known[column] == value).sum())
            sentence = f"{number:,} of the {len(known):,} raters who gave their {axis} answered {value}."
            yield counted_raters(axis, value, number, sentence, number / len(known))


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
    people = medians.size
    drawn = [np.median(np.repeat(medians, times)) for times in draws(people)] if people > 1 else []
    found = middle(float(np.median(medians)), np.asarray(drawn), people)
    low, high = seconds.quantile([0.25, 0.75])
    who = "raters" if axis == ALL else f"raters of the group “{value}” ({axis})"
    known = (f"dices.answer_time.{axis}.{slug(value)}", value, {"axis": axis, "group": value})
    further = {"lower_quartile": float(low), "upper_quartile": float(high)}
    said, size = f"The median answer time of {who} was {{}} s", (len(seconds), people)
    yield estimate(*known, size, found, said, NUMBER, "ratings", further=further)
