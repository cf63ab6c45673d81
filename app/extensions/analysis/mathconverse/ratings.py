"""Helpfulness and correctness in MathConverse's `mathconverse_interactions`: by model and other groups, how often each
rating was given, and how both diverge.

Each rated reply counts once, on the scales from 0 to 6 (Collins et al.: Evaluating language models for mathematics
through interactions. PNAS 2024). A correctness of 0 means that the reply contains no mathematics. The paper's means
include it as a number, so means with and without it are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import orjson
import pandas as pd

from app.extensions.analysis.base import analysis, each
from app.extensions.analysis.estimates import (
    Estimate,
    Finding,
    Scatter,
    ScatterPoint,
    finding,
    mean_estimate,
    share_estimate,
    slug,
)
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
    """Mean helpfulness and correctness by model, and correctness of replies that contain mathematics."""
    rated_turns = turns(interactions)
    yield _by_model(rated_turns, "helpfulness", "helpfulness", "Helpfulness by model", "")
    yield _by_model(rated_turns, "correctness", "correctness", "Correctness by model", "")
    without = mathematical(rated_turns)
    yield _by_model(without, "correctness", "correctness_without_0", "Correctness by model, without 0", WITHOUT)


@analysis
def ratings_overall(interactions: pd.DataFrame) -> Iterator[Finding]:
    """Mean helpfulness and correctness over all models; by model, helpfulness of replies that contain mathematics."""
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
    """Mean helpfulness and correctness by the participants' experience with mathematics (`mth_bkgrd`)."""

    def words(value: str) -> tuple[str, str]:
        label = "not said" if value == MISSING else value
        return label, f"Replies to participants with the experience “{label}”"

    yield from _by(turns(interactions, ("mth_bkgrd",)), "expertise", "mth_bkgrd", (*EXPERTISE, MISSING), words)


@analysis
def ratings_by_confidence(interactions: pd.DataFrame) -> Iterator[Finding]:
    """Mean helpfulness and correctness by confidence to solve the problem alone (`solo_solve`, 0 to 6)."""
    rated_turns = turns(interactions, ("solo_solve",))
    rated_turns = rated_turns.assign(solo_solve=rated_turns["solo_solve"].astype(str))

    def words(value: str) -> tuple[str, str]:
        label = "not said" if value == MISSING else f"{value} of 6"
        return label, f"Where the confidence to solve the problem alone was {label}, replies"

    yield from _by(rated_turns, "confidence", "solo_solve", (*CONFIDENCE, MISSING), words)


@analysis
def ratings_by_turn(interactions: pd.DataFrame) -> Iterator[Finding]:
    """Mean helpfulness and correctness of the first reply of a conversation, of the second, and so on."""
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
    """The share of each rating from 0 to 6, on both scales, and how often each pair of ratings was given."""
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
    """The shares of replies that are correct but unhelpful, or helpful but wrong.

    CheckMate asks for "clear discrepancies" between helpfulness and correctness (questions_to_ask.txt).
    """
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
