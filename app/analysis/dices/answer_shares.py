"""Raters' answers: the share of each value, each conversation's most common answer, and agreement with the experts.

If several answers are equally common, the one given first in the order of rater ids counts. The experts' answer is
`safety_gold` of DICES-350, where Yes means unsafe, as in all columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from app.analysis.dices.agreement import BOTH, ORDER, marked
from app.analysis.dices.cohesion import order, peaks
from app.analysis.dices.coincidence_matrix import Sums
from app.analysis.dices.jackknife import of_mean
from app.analysis.estimates import NUMBER, SHARE, Estimate, EstimateGroup, Finding, estimate
from app.analysis.intervals import Interval, codes, share_of

COLUMN = "Q_overall"
GOLD = "safety_gold"
WILSON = (
    "The 95 % interval is Wilson's for the effective number of independent ratings, because ratings share raters and "
    "conversations (two-way cluster jackknife; MacKinnon, Nielsen and Webb 2023)."
)
EACH = "The 95 % interval counts conversations alone as a sample; the raters are treated as given."
MOST = (
    "If several answers to a conversation are equally common, the one given first in the order of rater ids counts as "
    "its most common answer."
)


def answered(ratings: pd.DataFrame, edition: str) -> tuple[Finding, ...]:
    """The answers to `Q_overall`: by rating, by conversation, and how unanimous raters are about a conversation.

    Names: `dices.answers.<value>` (share of ratings), `dices.majority.<value>` (share of conversations with this most
    common answer), both with the number as `count` in `further`; `dices.plurality.all`, `dices.negentropy.all`.
    """
    given = ratings[ratings[COLUMN].isin(ORDER)]
    if given.empty:
        return ()
    code = f'answered(frame(database, study, "{edition.replace("-", "_")}", origin), "{edition}")'
    most = majority(given)
    ties = int(most["tied"].sum())
    return (
        Finding(
            "dices.answers", f"Answers to {COLUMN} ({edition})", "ratings", SHARE, (0, 1), tuple(_answered(given)),
            f"Shares are of all ratings. {WILSON}", code,
        ),
        Finding(
            "dices.majority", f"Most common answers ({edition})", "conversations", SHARE, (0, 1),
            tuple(_majorities(most, given["rater_id"].nunique())), f"{MOST} {EACH}", code,
            note=f"Conversations in which two answers were equally common: {ties:,}." if ties else "",
        ),
        Finding(
            "dices.one_answer", f"Unanimity of raters by conversation ({edition})", "conversations", NUMBER,
            (0, 1.1), tuple(_near(given)),
            "Plurality size is the mean over conversations of the share of the most common answer, negentropy that of "
            f"ln 3 − H in nats, H being the entropy of the answers. {BOTH}", code,
        ),
    )  # fmt: skip


def experts(ratings: pd.DataFrame, edition: str) -> tuple[Finding, ...]:
    """Agreement of raters with the experts' `safety_gold`; empty if no conversation has one.

    Names: `dices.gold_agreement.<gold>` (share of conversations whose most common answer is the experts') for `all`,
    Yes and No; `dices.said_unsafe.<gold>` (mean share of raters who said Yes) for Yes and No.
    """
    given = ratings[ratings[COLUMN].isin(ORDER) & ratings[GOLD].isin(("Yes", "No"))]
    if given.empty:
        return ()
    code = f'experts(frame(database, study, "{edition.replace("-", "_")}", origin), "{edition}")'
    by_item = majority(given).join(given.groupby("item_id")[GOLD].first())
    raters = given["rater_id"].nunique()
    found = (
        Finding(
            "dices.gold_agreement", f"Agreement with the experts ({edition})", "conversations", SHARE, (0, 1),
            tuple(_agreed(by_item, raters)), f"{MOST} Experts never answer Unsure. {EACH}", code,
        ),
        Finding(
            "dices.said_unsafe", f"Share of raters who said unsafe, by the experts' answer ({edition})",
            "conversations", SHARE, (0, 1), tuple(_unsafe(given, by_item, raters)),
            f"Means over conversations of the share of their ratings that are Yes (unsafe). {BOTH}", code,
        ),
    )  # fmt: skip
    return found


def majority(ratings: pd.DataFrame, column: str = COLUMN) -> pd.DataFrame:
    """By conversation: the most common `answer`, its number of `votes`, and whether another was as common (`tied`).

    If several answers are equally common, the one given first in the order of rater ids counts.
    """
    given = ratings[ratings[column].isin(ORDER)]
    ids = given["rater_id"].astype(str)
    ranked = given.assign(_place=pd.factorize(ids, sort=True)[0])
    each = ranked.groupby(["item_id", column]).agg(votes=("_place", "size"), first=("_place", "min")).reset_index()
    each = each.sort_values(["item_id", "votes", "first"], ascending=[True, False, True], kind="stable")
    most = each.groupby("item_id")["votes"].transform("max")
    tied = (each["votes"] == most).groupby(each["item_id"]).sum() > 1
    found = each.drop_duplicates("item_id").set_index("item_id").rename(columns={column: "answer"})
    return found[["answer", "votes"]].assign(tied=tied)


def _answered(given: pd.DataFrame) -> Iterator[Estimate]:
    people, items = codes(given["rater_id"]), codes(given["item_id"])
    raters = given["rater_id"].nunique()
    for value in ORDER:
        hits = (given[COLUMN] == value).to_numpy().astype(np.float64)
        group = EstimateGroup(f"dices.answers.{value}", value, len(given), raters, {"answer": value})
        found = share_of(hits, people, items)
        further = {"count": float(hits.sum())}
        yield estimate(group, found, f"{{}} of ratings were {value}", SHARE, "ratings", further=further)


def _majorities(most: pd.DataFrame, raters: int) -> Iterator[Estimate]:
    for value in ORDER:
        hits = (most["answer"] == value).to_numpy().astype(np.float64)
        group = EstimateGroup(f"dices.majority.{value}", value, len(most), raters, {"answer": value})
        further = {"count": float(hits.sum())}
        said = f"For {{}} of conversations, the most common answer is {value}"
        yield estimate(group, _shared(hits), said, SHARE, "conversations", further=further)


def _near(given: pd.DataFrame) -> Iterator[Estimate]:
    marks = marked(given, COLUMN)
    counts = marks.sum(axis=1, dtype=np.float64)
    raters = given["rater_id"].nunique()
    bits = (np.log(len(ORDER)) - order(counts)[0]) / np.log(2)
    spread = {"least_entropy_bits": float(bits.min()), "most_entropy_bits": float(bits.max())}
    for name, each, top, words, further in (
        ("plurality", peaks, 1.0, "plurality size", {}),
        ("negentropy", order, np.log(len(ORDER)), "negentropy (nats)", spread),
    ):
        group = EstimateGroup(f"dices.{name}.all", words, counts.shape[-1], raters, {"column": COLUMN})
        found = of_mean(marks, each, (0.0, top))
        said = f"Conversations had a mean {words} of {{}}"
        yield estimate(group, found, said, NUMBER, "conversations", further=further)


def _agreed(by_item: pd.DataFrame, raters: int) -> Iterator[Estimate]:
    for value in ("all", "Yes", "No"):
        rows = by_item if value == "all" else by_item[by_item[GOLD] == value]
        if len(rows):
            hits = (rows["answer"] == rows[GOLD]).to_numpy().astype(np.float64)
            group = EstimateGroup(
                f"dices.gold_agreement.{value}", f"experts: {value}", len(rows), raters, {"gold": value}
            )
            which = "conversations" if value == "all" else f"conversations that experts answer with {value}"
            said = f"For {{}} of {which}, the most common answer is that of the experts"
            yield estimate(group, _shared(hits), said, SHARE, "conversations", further={"count": float(hits.sum())})


def _unsafe(given: pd.DataFrame, by_item: pd.DataFrame, raters: int) -> Iterator[Estimate]:
    for value in ("Yes", "No"):
        rows = by_item[by_item[GOLD] == value]
        if len(rows):
            group = EstimateGroup(f"dices.said_unsafe.{value}", f"experts: {value}", len(rows), raters, {"gold": value})
            said = f"For conversations that experts answer with {value}, on average {{}} of raters said Yes (unsafe)"
            found = of_mean(marked(given[given[GOLD] == value], COLUMN), _yes, (0.0, 1.0))
            yield estimate(group, found, said, SHARE, "conversations")


def _yes(counts: Sums) -> Sums:
    """For each conversation: the share of Yes, and whether it has answers."""
    sizes = counts.sum(axis=0)
    return np.stack([np.divide(counts[-1], sizes, out=np.zeros_like(sizes), where=sizes > 0), sizes > 0])


def _shared(hits: np.ndarray) -> Interval:
    return _worded(share_of(hits, np.arange(hits.size)))


def _worded(found: Interval) -> Interval:
    """The interval with its reason reworded for conversations, which are the independent units here."""
    return replace(found, why=found.why.replace("participants", "conversations")) if found.why else found
