"""Raters with possibly careless ratings: those who were fast, gave the same answer nearly always, or were removed.

DICES removed raters who took suspiciously little time or gave everything the same label; its thresholds are not
published. FAST_MS lies between the medians of the DICES-350 raters who were removed for speed (33 to 44 s) and of the
raters who were kept (45.2 s and more). The lists are those of the release's README ("Removed raters").
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd

from app.analysis.dices.agreement import BOTH, ORDER, alpha, alpha_interval, counted, marked
from app.analysis.estimates import NUMBER, Estimate, EstimateGroup, Finding, estimate

FAST_MS = 45_000
"""A rater whose median answer took less than this was fast."""
SAME = 0.95
"""A rater with at least this share of equal answers gave the same answer nearly always."""
LEAST = 20
"""Raters with fewer answers are not checked for speed or equal answers."""
REMOVED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "dices-350": frozenset(
            {
                "297514565398139",
                "297515609163939",
                "297515750682315",
                "297515617432733",
                "297541515566649",
                "297541515769980",
                "297515629971478",
                "297059995361243",
                "297541522412126",
                "297540556928761",
                "297541321453321",
                "297540562350921",
                "297540983991638",
                "297060365288109",
                "297514543980607",
                "297515729806999",
                "297541271027233",
                "296709611112092",
                "296709543131761",
            }
        ),
        "dices-990": frozenset(
            {
                "296768824962581",
                "296740172100277",
                "296729424498056",
                "296835612486158",
                "297212198239077",
                "296740254381555",
                "296740049152799",
                "297212002905763",
                "296740761150184",
                "296708974347177",
                "296770194464643",
                "296768399729683",
            }
        ),
    }
)
"""The raters who are removed in the release, by edition: 19 of 123, 12 of 173 (these from one public file only)."""
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "fast": f"median time under {FAST_MS / 1000:g} s",
        "same": f"the same answer in at least {100 * SAME:g} % of ratings",
        "removed": "removed in the release",
    }
)


def raters(
    ratings: pd.DataFrame,
    edition: str = "",
    *,
    column: str = "Q_overall",
    fast_ms: float = FAST_MS,
    same: float = SAME,
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
    """The ratings of all other raters."""
    return ratings[~ratings["rater_id"].isin(removed)]


def filtered(ratings: pd.DataFrame, edition: str, column: str = "Q_overall") -> tuple[Finding, ...]:
    """Nominal alpha before and after leaving out raters, for each reason in the data.

    Names: `dices.filtered.<reason>`: fast, same, fast_or_same, removed; `further` has `before`, `removed` (raters) and
    `change`. A reason that applies to no rater has no estimate.
    """
    found = raters(ratings, edition, column=column)
    reasons = {reason: found.index[[reason in each for each in found["reasons"]]] for reason in REASONS}
    either = reasons["fast"].union(reasons["same"])
    both = len(reasons["fast"]) and len(reasons["same"])
    wanted = {**reasons, **({"fast_or_same": either} if both else {})}
    finding = Finding(
        "dices.filtered", f"Agreement without some raters ({edition})", "ratings", NUMBER, (-0.2, 1),
        tuple(_estimates(ratings, column, wanted)),
        f"Nominal alpha of {column} without raters to whom a reason applies: {'; '.join(REASONS.values())}. DICES's "
        f"own thresholds are not published. The first two reasons need {LEAST} ratings of a rater. {BOTH}",
        f'filtered(frame(database, study, "{edition.replace("-", "_")}", origin), "{edition}")', reference=0.0,
    )  # fmt: skip
    return (finding,) if finding.estimates else ()


def _estimates(ratings: pd.DataFrame, column: str, wanted: Mapping[str, pd.Index]) -> Iterator[Estimate]:
    given = ratings[ratings[column].isin(ORDER)]
    before = alpha(counted(given, column))
    for reason, ids in wanted.items():
        rest = without(given, set(ids))
        after = alpha_interval(marked(rest, column), "nominal")
        if not len(ids) or np.isnan(after.value) or np.isnan(before):
            continue
        words = REASONS.get(reason, "fast, or nearly always the same answer")
        label, people = f"without: {words}", rest["rater_id"].nunique()
        group = EstimateGroup(f"dices.filtered.{reason}", label, len(rest), people, {"reason": reason})
        further = {"before": before, "change": after.value - before, "removed": float(len(ids))}
        total = f"{len(ids):,} {'rater' if len(ids) == 1 else 'raters'}"
        said = f"Without {total} ({words}), the alpha of {column} was {{}}; with them it was {before:.2f}"
        yield estimate(group, after, said, NUMBER, "ratings", further=further)
