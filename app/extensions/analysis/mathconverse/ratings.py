"""Helpfulness and correctness in MathConverse's `mathconverse_interactions`: by model and other groups, how often each
rating was given, how both diverge and correlate, and their trend. Collins et al., PNAS 2024.

Each rated reply counts once, on the scales from 0 to 6. A correctness of 0 means that the reply contains no
mathematics. The paper's means include it as a number, so means with and without it are computed.

Spearman's correlation is Pearson's of the ranks, of which equal values share one. The interval is found on Fisher's
scale, z = artanh r, by leaving out one participant at a time. Ratings have few values, so pairs are counted in tables,
one for each participant. The trend is the slope of a straight line through ratings against turns; over all replies, it
also reflects which conversations go on; within conversations, where each one's means are subtracted, it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isnan, tanh

import numpy as np
import orjson
import pandas as pd

from app.extensions.analysis.base import analysis, each
from app.extensions.analysis.estimates import (
    NUMBER,
    Estimate,
    Finding,
    Scatter,
    ScatterPoint,
    estimate,
    finding,
    mean_estimate,
    share_estimate,
    slug,
)
from app.extensions.analysis.intervals import Codes, Interval, Values, codes, left_out, number_of
from app.extensions.analysis.mathconverse.participants import SHORT
from storage.schemas.mathconverse import EXPERTISE, MISSING

TABLE = "mathconverse_interactions"
COLUMNS = ("model", "uid", "helpfulness_ratings", "correctness_ratings")
SCALES = ("helpfulness", "correctness")
SCALE = (0, 6)
WITHOUT = "Replies of correctness 0, which contain no mathematics, are left out; the published means count them as 0."
WITHOUT_TOO = "Without correctness 0: without replies that contain no mathematics."
FEWER = "Later turns come only from longer conversations; satisfied participants may stop early."
# `solo_solve`, from (0) Definitely could not solve on my own to (6) Definitely can solve on my own.
CONFIDENCE = tuple(map(str, range(7)))
RIGHT, UNHELPFUL, HELPFUL, WRONG = 6, 3, 5, 2


def turns(interactions: pd.DataFrame, also: tuple[str, ...] = ()) -> pd.DataFrame:
    """A row for each reply: `model`, `uid`, `turn` from 1, `helpfulness` and `correctness`; unrated ones are unknown.

    `interactions` has the columns of MathConverse's release, whose cells are lists as Python writes them. `also` are
    more of its columns; `trace` numbers the conversations.
    """
    found = interactions[["model", "uid", *also]].copy()
    found["trace"] = range(len(found))
    for name in SCALES:
        found[name] = [listed(cell) for cell in interactions[f"{name}_ratings"]]
    found["turn"] = [list(range(1, len(given) + 1)) for given in found["helpfulness"]]
    found = found[found["turn"].map(len) > 0]
    rows = found.explode(["helpfulness", "correctness", "turn"], ignore_index=True)
    return rows.astype({"helpfulness": "float64", "correctness": "float64", "turn": "int64"})


def listed(cell: str) -> list[int | None]:
    """Parse a cell of ratings, a Python list of numbers and None: JSON except for None instead of null."""
    found: list[int | None] = orjson.loads(cell.replace("None", "null"))
    return found


def mathematical(rated_turns: pd.DataFrame) -> pd.DataFrame:
    """The turns with a correctness rating above 0, so a reply that contains mathematics."""
    return rated_turns[rated_turns["correctness"] > 0]


@analysis
def ratings(interactions: pd.DataFrame) -> Iterator[Finding]:
    rated_turns = turns(interactions)
    yield _by_model(rated_turns, "helpfulness", "helpfulness", "Helpfulness by model", "")
    yield _by_model(rated_turns, "correctness", "correctness", "Correctness by model", "")
    without = mathematical(rated_turns)
    yield _by_model(without, "correctness", "correctness_without_0", "Correctness by model, without 0", WITHOUT)


@analysis
def ratings_overall(interactions: pd.DataFrame) -> Iterator[Finding]:
    rated_turns = turns(interactions)
    without = mathematical(rated_turns)
    means = []
    for end, some, but in (("", rated_turns, ""), ("_without_0", without, " if they contain mathematics")):
        for scale in SCALES:
            rows = some[some[scale].notna()]
            if len(rows):
                label = f"{scale}, without correctness 0" if end else scale
                name, said = f"mathconverse.mean.{scale}{end}.all", "Over all models, replies"
                means.append(_mean(name, label, {"model": "all"}, rows, scale, said, but))
    yield finding("mathconverse.mean_of_all", means, note=WITHOUT_TOO)
    title = "Helpfulness by model, without replies of correctness 0"
    yield _by_model(without, "helpfulness", "helpfulness_without_0", title, WITHOUT_TOO)


def _by_model(rated_turns: pd.DataFrame, scale: str, name: str, title: str, note: str) -> Finding:
    but = " where they hold mathematics" if name.endswith("_0") else ""
    means = tuple(
        _mean(f"mathconverse.mean.{name}.{slug(model)}", str(model), {"model": str(model)}, rows, scale,
              f"Replies of {model}", but)
        for model, rows in rated_turns[rated_turns[scale].notna()].groupby("model", sort=True)
    )  # fmt: skip
    return finding("mathconverse.mean.{of}", means, note=note, words={"of": name, "title": title})


def _mean(
    name: str, label: str, groups: dict[str, str], rows: pd.DataFrame, scale: str, said: str, but: str = ""
) -> Estimate:
    said = f"{said} had a mean {scale} of {{}} (of 6){but}"
    return mean_estimate(name, label, groups, said, rows[scale], rows["uid"], counts="ratings", scale=SCALE)


@analysis
def ratings_by_expertise(interactions: pd.DataFrame) -> Iterator[Finding]:
    def words(value: str) -> tuple[str, str]:
        label = "not said" if value == MISSING else value
        return label, f"Replies to participants with the experience “{label}”"

    yield from _by(turns(interactions, ("mth_bkgrd",)), "expertise", "mth_bkgrd", (*EXPERTISE, MISSING), words)


@analysis
def ratings_by_confidence(interactions: pd.DataFrame) -> Iterator[Finding]:
    rated_turns = turns(interactions, ("solo_solve",))
    rated_turns = rated_turns.assign(solo_solve=rated_turns["solo_solve"].astype(str))

    def words(value: str) -> tuple[str, str]:
        label = "not said" if value == MISSING else f"{value} of 6"
        return label, f"Where the confidence to solve the problem alone was {label}, replies"

    yield from _by(rated_turns, "confidence", "solo_solve", (*CONFIDENCE, MISSING), words)


@analysis
def ratings_by_turn(interactions: pd.DataFrame) -> Iterator[Finding]:
    rated_turns = turns(interactions)
    values = [str(turn) for turn in range(1, int(rated_turns["turn"].max()) + 1)] if len(rated_turns) else []
    rated_turns = rated_turns.assign(turn=rated_turns["turn"].astype(str))
    yield from _by(rated_turns, "turn", "turn", values, lambda turn: (f"turn {turn}", f"Replies of turn {turn}"), FEWER)


def _by(
    rated_turns: pd.DataFrame, by: str, column: str, values: Sequence[str], words: Callable[[str], tuple[str, str]],
    note: str = "",
) -> Iterator[Finding]:  # fmt: skip
    """A finding for each scale; `words` gives a value's label, and the beginning of its sentence."""
    for scale in SCALES:
        name, means = f"mathconverse.by_{by}.{scale}", []
        rated = rated_turns[rated_turns[scale].notna()]
        for value in values:
            rows = rated[rated[column] == value]
            if len(rows):
                label, said = words(value)
                one = f"{name}.{slug(SHORT.get(value, value))}"
                means.append(_mean(one, label, {column: value}, rows, scale, said))
        known = {"by": by, "scale": scale, "title": scale.capitalize()}
        yield finding("mathconverse.by_{by}.{scale}", means, note=note, words=known)


@analysis
def distribution(interactions: pd.DataFrame) -> Iterator[Finding]:
    rated_turns = turns(interactions)
    shares = []
    for scale in SCALES:
        rated = rated_turns[rated_turns[scale].notna()]
        for value in range(SCALE[0], SCALE[1] + 1) if len(rated) else ():
            name, groups = f"mathconverse.distribution.{scale}.{value}", {"value": f"{value}", "rating": scale}
            said = f"{{}} of replies ({{count}}) had a {scale} of {value} (of 6)"
            found = _share(name, f"{scale} {value}", groups, said, rated[scale] == value, rated)
            shares.append(found)
    both = rated_turns.dropna(subset=list(SCALES)).groupby(list(SCALES)).size().rename("n").reset_index()
    points = tuple(
        ScatterPoint(row.correctness, row.helpfulness, int(row.n),
                     f"helpfulness {row.helpfulness:.0f}, correctness {row.correctness:.0f}")
        for row in each(both)
    )  # fmt: skip
    yield finding(
        "mathconverse.distribution", shares, columns=("rating",),
        note="Correctness 0 means that the reply contains no mathematics.",
        scatter=Scatter(SCALES[1], SCALES[0], SCALE, points),
    )  # fmt: skip


@analysis
def divergence(interactions: pd.DataFrame) -> Iterator[Finding]:
    """The shares of replies that are correct but unhelpful, or helpful but wrong."""
    rated = turns(interactions).dropna(subset=list(SCALES))
    helpful, correct = rated["helpfulness"], rated["correctness"]
    cells = {
        "right_unhelpful": (
            f"correctness {RIGHT}, helpfulness at most {UNHELPFUL}", (correct == RIGHT) & (helpful <= UNHELPFUL),
        ),
        "helpful_wrong": (
            f"helpfulness at least {HELPFUL}, correctness 1 to {WRONG}",
            (helpful >= HELPFUL) & correct.between(1, WRONG),
        ),
    }  # fmt: skip
    shares = (
        _share(f"mathconverse.divergence.{name}", label, {"cell": name},
               f"{{}} of replies ({{count}}) had {label}", hits, rated)
        for name, (label, hits) in cells.items()
        if len(rated)
    )  # fmt: skip
    yield finding("mathconverse.divergence", shares)


def _share(name: str, label: str, groups: dict[str, str], said: str, hits: pd.Series, rated: pd.DataFrame) -> Estimate:
    return share_estimate(name, label, groups, said, hits, rated["uid"], counts="ratings", counted=True)


CORRELATED = (*COLUMNS, "solo_solve")
WITHOUT_0 = "Without 0: without replies of correctness 0, which contain no mathematics."


def correlation(x: Values, y: Values, people: Codes, *, ranked: bool = False) -> Interval:
    """Pearson's correlation, or Spearman's if `ranked`, with an interval by participants; NaN where one is constant."""
    xs, at_x = np.unique(x, return_inverse=True)
    ys, at_y = np.unique(y, return_inverse=True)
    shape = (number_of(people), xs.size, ys.size)
    each = np.zeros(shape)
    np.add.at(each, (people, at_x, at_y), 1)
    whole = each.sum(axis=0, keepdims=True)
    value, *without = _correlations(np.concatenate([whole, whole - each]), xs, ys, ranked).tolist()
    with np.errstate(divide="ignore"):
        found = left_out(float(np.arctanh(value)), np.arctanh(np.asarray(without)))
    if found.low is None or found.high is None:
        return Interval(value, why=found.why)
    return Interval(value, tanh(found.low), tanh(found.high))


@analysis
def rating_correlations(interactions: pd.DataFrame) -> Iterator[Finding]:
    rated_turns = turns(interactions, ("solo_solve",))
    rated_turns["confidence"] = pd.to_numeric(rated_turns["solo_solve"], errors="coerce").astype("float64")
    for kind in ("pearson", "spearman"):
        yield finding(f"mathconverse.{kind}", _correlated(rated_turns, kind), note=WITHOUT_0)


def _correlated(rated_turns: pd.DataFrame, kind: str) -> Iterator[Estimate]:
    pairs = (
        ("helpfulness", "correctness", "", rated_turns),
        ("helpfulness", "correctness", "_without_0", mathematical(rated_turns)),
        ("confidence", "helpfulness", "", rated_turns),
        ("confidence", "correctness", "", rated_turns),
    )
    for x, y, end, some in pairs:
        rows = some[some[x].notna() & some[y].notna()]
        if len(rows) < 2:
            continue
        people = codes(rows["uid"])
        found = correlation(rows[x].to_numpy(), rows[y].to_numpy(), people, ranked=kind == "spearman")
        if not isnan(found.value):
            label = f"{x} and {y}{', without 0' if end else ''}"
            groups = {"x": x, "y": y} | ({"replies": "without correctness 0"} if end else {})
            where = " for replies that contain mathematics" if end else ""
            said = f"{kind.capitalize()}'s correlation of {x} and {y} was {{}}{where}"
            size = (len(rows), number_of(people))
            yield estimate(f"mathconverse.{kind}.{x}_{y}{end}", label, groups, size, found, said, NUMBER, "ratings")


def _correlations(tables: Values, xs: Values, ys: Values, ranked: bool) -> Values:
    """The correlation of each of several tables of pairs; NaN where one side does not vary."""
    a, b = tables.sum(axis=2), tables.sum(axis=1)
    n = a.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = (_ranks(a), _ranks(b)) if ranked else (xs[None], ys[None])
        x, y = x - (a * x).sum(axis=1, keepdims=True) / n, y - (b * y).sum(axis=1, keepdims=True) / n
        together = np.einsum("gij,gi,gj->g", tables, np.broadcast_to(x, a.shape), np.broadcast_to(y, b.shape))
        spread = (a * x * x).sum(axis=1) * (b * y * y).sum(axis=1)
        return np.where(spread > 1e-12, np.clip(together / np.sqrt(spread), -1, 1), np.nan)


def _ranks(counts: Values) -> Values:
    """The mean rank of each value, but for a constant, from how often each occurs."""
    return np.asarray(counts.cumsum(axis=1) - counts / 2)


def slope(x: Values, y: Values, people: Codes) -> Interval:
    """By how much y changes with x, with an interval by participants; NaN where x does not vary."""
    x, y = x - x.mean(), y - y.mean()
    sums = np.array([np.bincount(people, weights=part) for part in (np.ones_like(x), x, y, x * x, x * y)])
    whole = sums.sum(axis=1, keepdims=True)
    value, *without = _slopes(np.hstack([whole, whole - sums])).tolist()
    return left_out(value, np.asarray(without))


@analysis
def rating_trend(interactions: pd.DataFrame) -> Iterator[Finding]:
    rated_turns = turns(interactions)
    slopes = []
    for scale in SCALES:
        rated = rated_turns[rated_turns[scale].notna()]
        people = codes(rated["uid"])
        own = rated.groupby("trace")[["turn", scale]].transform("mean")
        for end, where, less in (("", "over all replies", 0), ("_within", "within conversations", own)):
            pair = rated[["turn", scale]] - less
            found = slope(pair["turn"].to_numpy(), pair[scale].to_numpy(), people) if len(pair) else None
            if found is not None and not isnan(found.value):
                known = (f"mathconverse.trend.{scale}{end}", f"{scale}, {where}", {"rating": scale})
                said = f"{scale.capitalize()} changed by {{}} points (of 6) per turn {where}"
                size = (len(rated), number_of(people))
                slopes.append(estimate(*known, size, found, said, NUMBER, "ratings"))
    yield finding("mathconverse.trend", slopes)


def _slopes(sums: Values) -> Values:
    """The slopes from numbers of pairs and sums of x, y, x*x and x*y; NaN where x does not vary."""
    n, x, y, xx, xy = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = xx - x * x / n
        return np.where(spread > 1e-9, (xy - x * y / n) / spread, np.nan)
