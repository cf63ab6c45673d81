"""Raters' answers: the share of each value, by conversation, against the experts, by group, and single reasons;
and the raters' profiles.

If several answers are equally common, the one given first in the order of rater ids counts. The experts' answer is
`safety_gold` of DICES-350, where Yes means unsafe, as in all columns. A group of raters is a value of a column of their
profile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from app.extensions.analysis.base import analysis
from app.extensions.analysis.dices.agreement import ORDER, PROFILE, Sums, marked, of_mean, order, peaks, profiles_of
from app.extensions.analysis.estimates import (
    NUMBER,
    SHARE,
    Estimate,
    Finding,
    count_estimate,
    estimate,
    finding,
    share_estimate,
    slug,
)
from app.extensions.analysis.intervals import share_of
from experiments.instruments.dices_safety import REASONS
from problems.dices import DOMAINS

COLUMN = "Q_overall"
GOLD = "safety_gold"
DEGREE, TYPE = "degree_of_harm", "harm_type"
HARM_COLUMNS = (DEGREE, TYPE)
WHOSE = {
    DEGREE: "of conversations with the degree of harm",
    TYPE: "of conversations with the type of harm",
    "rater_locale": "by raters in",
    "rater_education": "by raters with the education",
}
# The order of values that have one; ages are spelled as in the release.
ORDERS = {
    DEGREE: DOMAINS[DEGREE],
    "rater_age": ("gen z", "millenial", "gen x+"),
    "rater_education": ("High school or below", "College degree or higher", "Other"),
}


@analysis
def answered(ratings: pd.DataFrame, edition: str) -> Iterator[Finding]:
    """The answers to `Q_overall`: by rating, by conversation (its most common answer), and how unanimous raters are
    about a conversation."""
    given = ratings[ratings[COLUMN].isin(ORDER)]
    if given.empty:
        return
    most, raters = majority(given), given["rater_id"].nunique()
    ties = int(most["tied"].sum())
    shares = (
        share_estimate(f"dices.answers.{value}", value, {"answer": value}, f"{{}} of ratings were {value}",
                       given[COLUMN] == value, given["rater_id"], given["item_id"], counts="ratings", counted=True)
        for value in ORDER
    )  # fmt: skip
    yield finding("dices.answers", shares, words={"edition": edition})
    common = (
        _of_conversations(f"dices.majority.{value}", value, {"answer": value}, most["answer"] == value, raters,
                          f"For {{}} of conversations, the most common answer is {value}")
        for value in ORDER
    )  # fmt: skip
    note = f"Conversations in which two answers were equally common: {ties:,}." if ties else ""
    yield finding("dices.majority", common, note=note, words={"edition": edition})
    yield finding("dices.one_answer", _unanimity(given), words={"edition": edition})


@analysis
def experts(ratings: pd.DataFrame, edition: str) -> Iterator[Finding]:
    given = ratings[ratings[COLUMN].isin(ORDER) & ratings[GOLD].isin(("Yes", "No"))]
    if given.empty:
        return
    by_item = majority(given).join(given.groupby("item_id")[GOLD].first())
    raters = given["rater_id"].nunique()
    agreed, unsafe = [], []
    for value in ("all", "Yes", "No"):
        rows = by_item if value == "all" else by_item[by_item[GOLD] == value]
        if rows.empty:
            continue
        label, groups = f"experts: {value}", {"gold": value}
        which = "conversations" if value == "all" else f"conversations that experts answer with {value}"
        said = f"For {{}} of {which}, the most common answer is that of the experts"
        figure = (f"dices.gold_agreement.{value}", label, groups, rows["answer"] == rows[GOLD])
        agreed.append(_of_conversations(*figure, raters, said))
        if value != "all":
            said = f"For {which}, on average {{}} of raters said Yes (unsafe)"
            found = of_mean(marked(given[given[GOLD] == value], COLUMN), _yes, (0.0, 1.0))
            known = (f"dices.said_unsafe.{value}", label, groups, (len(rows), raters), found)
            unsafe.append(estimate(*known, said, SHARE, "conversations"))
    yield finding("dices.gold_agreement", agreed, words={"edition": edition})
    yield finding("dices.said_unsafe", unsafe, words={"edition": edition})


def majority(ratings: pd.DataFrame, column: str = COLUMN) -> pd.DataFrame:
    """By conversation: the most common `answer`, its number of `votes`, and whether another was as common (`tied`)."""
    given = ratings[ratings[column].isin(ORDER)]
    ids = given["rater_id"].astype(str)
    ranked = given.assign(_place=pd.factorize(ids, sort=True)[0])
    each = ranked.groupby(["item_id", column]).agg(votes=("_place", "size"), first=("_place", "min")).reset_index()
    each = each.sort_values(["item_id", "votes", "first"], ascending=[True, False, True], kind="stable")
    most = each.groupby("item_id")["votes"].transform("max")
    tied = (each["votes"] == most).groupby(each["item_id"]).sum() > 1
    found = each.drop_duplicates("item_id").set_index("item_id").rename(columns={column: "answer"})
    return found[["answer", "votes"]].assign(tied=tied)


def _of_conversations(
    name: str, label: str, groups: dict[str, str], hits: pd.Series, raters: int, said: str
) -> Estimate:
    found = share_of(hits.to_numpy().astype(np.float64), np.arange(hits.size))
    found = replace(found, why=found.why.replace("participants", "conversations"))
    size, further = (hits.size, raters), {"count": float(hits.sum())}
    return estimate(name, label, groups, size, found, said, SHARE, "conversations", further=further)


def _unanimity(given: pd.DataFrame) -> Iterator[Estimate]:
    marks = marked(given, COLUMN)
    counts = marks.sum(axis=1, dtype=np.float64)
    size = (counts.shape[-1], given["rater_id"].nunique())
    bits = (np.log(len(ORDER)) - order(counts)[0]) / np.log(2)
    spread = {"least_entropy_bits": float(bits.min()), "most_entropy_bits": float(bits.max())}
    for name, each, top, words, further in (
        ("plurality", peaks, 1.0, "plurality size", {}),
        ("negentropy", order, np.log(len(ORDER)), "negentropy (nats)", spread),
    ):
        figure = (f"dices.{name}.all", words, {"column": COLUMN}, size, of_mean(marks, each, (0.0, top)))
        said = f"Conversations had a mean {words} of {{}}"
        yield estimate(*figure, said, NUMBER, "conversations", further=further)


def _yes(counts: Sums) -> Sums:
    """For each conversation: the share of Yes, and whether it has answers."""
    sizes = counts.sum(axis=0)
    return np.stack([np.divide(counts[-1], sizes, out=np.zeros_like(sizes), where=sizes > 0), sizes > 0])


@analysis
def unsafe(ratings: pd.DataFrame, edition: str) -> Iterator[Finding]:
    """The share of ratings that are Yes by group of raters, degree of harm and type of harm, with the shares of No and
    Unsure in `further`. A conversation counts for each of its types of harm, which the release joins by commas."""
    given = ratings[ratings[COLUMN].isin(ORDER)]
    typed = given.assign(**{TYPE: given[TYPE].fillna("").str.split(",")}).explode(TYPE)
    typed = typed.assign(**{TYPE: typed[TYPE].str.strip()})
    parts = (
        ("dices.yes", given, [name for name in PROFILE if name in given], ""),
        ("dices.yes_by_degree", given, [DEGREE], ""),
        ("dices.yes_by_type", typed, [TYPE], "A conversation may have several types."),
    )
    for name, rows, columns, note in parts:
        shares = (one for column in columns for one in _said_yes(rows, column))
        yield finding(name, shares, note=note, words={"edition": edition})


def _said_yes(ratings: pd.DataFrame, column: str) -> Iterator[Estimate]:
    known = ratings[ratings[column].notna() & (ratings[column] != "")]
    axis = column.removeprefix("rater_")
    for value in values_of(known, column):
        rows = known[known[column] == value]
        others = {answer: float((rows[COLUMN] == answer).mean()) for answer in ORDER if answer != "Yes"}
        said = f"Of ratings {WHOSE.get(column, 'by raters who are')} {value}, {{}} were Yes (unsafe)"
        figure = (f"dices.yes.{axis}.{slug(value)}", value, {"axis": axis, "group": value}, said, rows[COLUMN] == "Yes")
        yield share_estimate(*figure, rows["rater_id"], rows["item_id"], counts="ratings", further=others)


@analysis
def reasons(ratings: pd.DataFrame, edition: str) -> Iterator[Finding]:
    shares = []
    for question, asked in REASONS[edition].items():
        for column, words in asked.items():
            rows = ratings[ratings[column].isin(ORDER)]
            if len(rows):
                said, groups = f"{{}} of ratings gave the reason “{words}”", {"column": column, "question": question}
                figure = (f"dices.reason.{column}", words, groups, said, rows[column] == "Yes")
                found = share_estimate(*figure, rows["rater_id"], rows["item_id"], counts="ratings", counted=True)
                shares.append(found)
    yield finding("dices.reason", shares, words={"edition": edition})


def values_of(known: pd.DataFrame, column: str) -> tuple[str, ...]:
    """The values of a column that occur: in the order of the release, if it has one, else by name."""
    there = set(known[column].astype(str))
    declared = ORDERS.get(column, ())
    return (*(value for value in declared if value in there), *sorted(there - {*declared}))


@analysis
def rater_profiles(ratings: pd.DataFrame, edition: str) -> Iterator[Finding]:
    profiles = profiles_of(ratings, ratings["rater_id"])
    yield finding("dices.raters", _raters(profiles), axis=(0, max(1, len(profiles))), words={"edition": edition})


def _raters(profiles: pd.DataFrame) -> Iterator[Estimate]:
    def counted_raters(axis: str, value: str, number: int, sentence: str, share: float) -> Estimate:
        name, groups = f"dices.raters.{axis}.{slug(value)}", {"axis": axis, "group": value}
        return count_estimate(name, value, groups, number, number, sentence, {"share": share})

    if len(profiles):
        yield counted_raters("all", "all", len(profiles), f"{len(profiles):,} raters.", 1.0)
    for column in map(str, profiles):
        known = profiles[profiles[column].notna()]
        axis = column.removeprefix("rater_")
        for value in values_of(known, column):
            number = int((known[column] == value).sum())
            sentence = f"{number:,} of the {len(known):,} raters who gave their {axis} answered {value}."
            yield counted_raters(axis, value, number, sentence, number / len(known))
