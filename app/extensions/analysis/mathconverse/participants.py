"""MathConverse's participants (experience with mathematics and with AI, chosen topic), and how long they talk."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np
import orjson
import pandas as pd

from app.extensions.analysis.base import analysis
from app.extensions.analysis.estimates import NUMBER, Finding, estimate, finding, mean_estimate, share_estimate, slug
from app.extensions.analysis.intervals import Interval, codes, draws, middle, number_of
from storage.schemas.mathconverse import EXPERIENCE, EXPERTISE, MISSING, TOPICS

BACKGROUND_COLUMNS = ("uid", "mth_bkgrd", "ai_play_bkgrd", "selected_topic")
LENGTH_COLUMNS = ("model", "uid", "helpfulness_ratings")
# The questions to a participant: column, options and label.
ASKED = {
    "expertise": ("mth_bkgrd", EXPERTISE, "experience with mathematics"),
    "ai_experience": ("ai_play_bkgrd", EXPERIENCE, "experience with AI"),
    "topic": ("selected_topic", TOPICS, "topic"),
}
# Experience with mathematics, in estimates' names.
SHORT = dict(zip(EXPERTISE, ("undergraduate", "degree", "masters", "phd", "professor", "never"), strict=True))


@analysis
def backgrounds(interactions: pd.DataFrame) -> Iterator[Finding]:
    """The share of participants with each background that occurs; MISSING means no answer."""
    people = interactions.drop_duplicates("uid")
    for question, (column, options, words) in ASKED.items():
        shares = []
        for option in (*options, MISSING):
            if (hits := people[column] == option).any():
                name = f"mathconverse.participants.{question}.{slug(SHORT.get(option, option))}"
                label = "not said" if option == MISSING else option
                said = f"{{}} of participants ({{count}}) had the {words} “{label}”"
                known = (name, label, {column: option}, said, hits, people["uid"])
                shares.append(share_estimate(*known, counts="answers", counted=True))
        yield finding("mathconverse.participants.{question}", shares, words={"question": question, "words": words})


@analysis
def conversation_lengths(interactions: pd.DataFrame) -> Iterator[Finding]:
    talks = interactions[["model", "uid"]].reset_index(drop=True)
    talks["turns"] = [
        float(len(orjson.loads(cell.replace("None", "null")))) for cell in interactions[LENGTH_COLUMNS[2]]
    ]
    if talks.empty:
        return
    axis, counts = (0, max(1, float(talks["turns"].max()))), "conversations"
    people, turns = codes(talks["uid"]), talks["turns"].to_numpy()
    size = number_of(people)
    known = ("mathconverse.turns.mean", "mean", {"statistic": "mean"}, "Conversations had a mean of {} turns")
    mean = mean_estimate(*known, turns, people, counts=counts, scale=(0, inf))
    medians = [np.median(np.repeat(turns, times[people])) for times in draws(size)] if size > 1 else []
    rest = (
        ("median", "median", middle(float(np.median(turns)), np.asarray(medians), size),
         "Conversations had a median of {} turns"),
        ("max", "longest", Interval(float(turns.max()), why="The longest conversation of a sample has no interval."),
         "The longest conversation had {} turns"),
    )  # fmt: skip
    others = (
        estimate(
            f"mathconverse.turns.{name}", word, {"statistic": name}, (len(talks), size), found, said, NUMBER, counts
        )
        for name, word, found, said in rest
    )
    yield finding("mathconverse.turns", (mean, *others), axis=axis)
    by_model = (
        mean_estimate(f"mathconverse.turns_by_model.{slug(model)}", str(model), {"model": str(model)},
                      f"Conversations with {model} had a mean of {{}} turns", rows["turns"], rows["uid"], counts=counts,
                      scale=(0, inf))
        for model, rows in talks.groupby("model", sort=True)
    )  # fmt: skip
    yield finding("mathconverse.turns_by_model", by_model, axis=axis)
    stopped = (
        share_estimate(f"mathconverse.stopped_after.{n:.0f}", f"{n:.0f}", {"turns": f"{n:.0f}"},
                       f"{{}} of conversations ({{count}}) had {n:.0f} turn{'' if n == 1 else 's'}", turns == n, people,
                       counts=counts, counted=True)
        for n in sorted(talks["turns"].unique())
    )  # fmt: skip
    yield finding("mathconverse.stopped_after", stopped)
