"""How often exactly one model is ranked best, and how often ranks are tied, by set of problems."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from app.analysis.estimates import SHARE, Estimate, EstimateGroup, Finding, estimate, slug
from app.analysis.intervals import codes, share_of
from app.analysis.mathconverse.preference import RANKS, SET, WHOLE, are_best, ranked
from app.analysis.mathconverse.ratings import grouped

METHOD = (
    "The share of ranked sets of problems in which a model's rank is better than that of every other model, in which "
    "at least two models share a rank, and in which all models do. The 95 % interval is Wilson's for the effective "
    "number of independent sets, because sets share participants (cluster jackknife); Student's t has one degree of "
    "freedom less than there are participants."
)
KINDS = {"some": "at least two models share a rank", "all": "all models share a rank"}


def best_alone(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """How often only one model was ranked best, and how often ranks were shared; empty without ranks.

    Names: `mathconverse.strict_best.<model>`, `mathconverse.ties.some`, `mathconverse.ties.all`; of complete sets
    alone, `mathconverse.strict_best_complete.<model>`, `mathconverse.ties_complete.some`, `.all`. How many sets they
    are is in `further["count"]`.
    """
    code = f'best_alone(frame(database, study, "{RANKS}", origin))'
    found = []
    for end, where, note in (("", "", ""), ("_complete", ", complete sets", WHOLE)):
        given = ranked(interactions, complete=bool(end))
        found += [
            Finding(
                f"mathconverse.strict_best{end}", f"Preference: ranked best alone{where}", "sets", SHARE, (0, 1),
                tuple(_best(given, end)), METHOD, code, note=note,
            ),
            Finding(
                f"mathconverse.ties{end}", f"Preference: shared ranks{where}", "sets", SHARE, (0, 1),
                tuple(_ties(given, end)), METHOD, code, note=note,
            ),
        ]  # fmt: skip
    return tuple(finding for finding in found if finding.estimates)


def _best(given: pd.DataFrame, end: str) -> Iterator[Estimate]:
    best = are_best(given)
    alone = best & (best.groupby([given[name] for name in SET]).transform("sum") == 1)
    for model, rows in given.assign(hit=alone).groupby("model", sort=True):
        group = grouped(f"mathconverse.strict_best{end}.{slug(model)}", str(model), rows, {"model": str(model)})
        yield _share(group, rows, f"{model} alone was ranked best in {{}} of {_sets(end)}")


def _ties(given: pd.DataFrame, end: str) -> Iterator[Estimate]:
    sizes = given.groupby(SET)["rank"].agg(["size", "nunique"]).reset_index()
    sizes = sizes[sizes["size"] > 1]
    hits = {"some": sizes["nunique"] < sizes["size"], "all": sizes["nunique"] == 1}
    for kind, label in KINDS.items() if len(sizes) else ():
        group = grouped(f"mathconverse.ties{end}.{kind}", label, sizes, {"ties": kind})
        yield _share(group, sizes.assign(hit=hits[kind]), f"In {{}} of {_sets(end)}, {label}")


def _share(group: EstimateGroup, rows: pd.DataFrame, said: str) -> Estimate:
    hits = rows["hit"].to_numpy(dtype="float64")
    found = share_of(hits, codes(rows["uid"]))
    return estimate(group, found, said, SHARE, "sets", further={"count": float(hits.sum())})


def _sets(end: str) -> str:
    return "complete sets" if end else "sets"
