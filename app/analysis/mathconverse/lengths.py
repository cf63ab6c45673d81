"""Length of conversations in turns; conversations without a message count as 0 turns."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np
import pandas as pd

from app.analysis.bootstrap import DRAWN, draws, middle
from app.analysis.estimates import NUMBER, SHARE, Estimate, Finding, estimate, slug
from app.analysis.intervals import Interval, codes, mean_of, number_of, share_of
from app.analysis.mathconverse.ratings import TABLE, grouped, listed

LENGTH_COLUMNS = ("model", "uid", "helpfulness_ratings")
CODE = f'conversation_lengths(frame(database, study, "{TABLE}", origin))'
METHOD = (
    "A turn is a message with its reply; a conversation that was opened and left without a message has 0 turns. The "
    "95 % interval of a mean is mean ± t standard errors, by leaving out one participant at a time (cluster "
    f"jackknife); that of the median is {DRAWN}; the longest has no interval."
)
SHARES = (
    "The share of all conversations. The 95 % interval is Wilson's for the effective number of independent "
    "conversations, because conversations share participants (cluster jackknife)."
)


def lengths(interactions: pd.DataFrame) -> pd.DataFrame:
    """A row for each conversation, also an empty one: `model`, `uid` and its number of `turns`."""
    found = interactions[["model", "uid"]].reset_index(drop=True)
    found["turns"] = [float(len(listed(cell))) for cell in interactions["helpfulness_ratings"]]
    return found


def conversation_lengths(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """The number of turns in a conversation; empty without conversations.

    Names: `mathconverse.turns.mean`, `.median` and `.max`, `mathconverse.turns_by_model.<model>` (means),
    `mathconverse.stopped_after.<turns>` (the share of conversations with just so many).
    """
    conversations = lengths(interactions)
    if conversations.empty:
        return ()
    axis = (0, max(1, float(conversations["turns"].max())))
    return (
        Finding(
            "mathconverse.turns", "Turns of a conversation", "conversations", NUMBER, axis,
            tuple(_whole(conversations)), METHOD, CODE,
        ),
        Finding(
            "mathconverse.turns_by_model", "Turns of a conversation by model", "conversations", NUMBER, axis,
            tuple(_by_model(conversations)), METHOD, CODE,
        ),
        Finding(
            "mathconverse.stopped_after", "Number of turns", "conversations", SHARE, (0, 1),
            tuple(_stopped(conversations)), SHARES, CODE,
        ),
    )  # fmt: skip


def _whole(conversations: pd.DataFrame) -> Iterator[Estimate]:
    people, turns = codes(conversations["uid"]), conversations["turns"].to_numpy()
    size = number_of(people)
    medians = [np.median(np.repeat(turns, times[people])) for times in draws(size)] if size > 1 else []
    found = {
        "mean": ("mean", mean_of(turns, people, scale=(0, inf))),
        "median": ("median", middle(float(np.median(turns)), np.asarray(medians), size)),
        "max": ("longest", Interval(float(turns.max()), why="The longest conversation of a sample has no interval.")),
    }
    for name, (word, one) in found.items():
        group = grouped(f"mathconverse.turns.{name}", word, conversations, {"statistic": name})
        said = "The longest conversation had {} turns" if name == "max" else f"Conversations had a {word} of {{}} turns"
        yield estimate(group, one, said, NUMBER, "conversations")


def _by_model(conversations: pd.DataFrame) -> Iterator[Estimate]:
    for model, rows in conversations.groupby("model", sort=True):
        group = grouped(f"mathconverse.turns_by_model.{slug(model)}", str(model), rows, {"model": str(model)})
        found = mean_of(rows["turns"].to_numpy(), codes(rows["uid"]), scale=(0, inf))
        said = f"Conversations with {model} had a mean of {{}} turns"
        yield estimate(group, found, said, NUMBER, "conversations")


def _stopped(conversations: pd.DataFrame) -> Iterator[Estimate]:
    for turns in sorted(conversations["turns"].unique()):
        hits = (conversations["turns"] == turns).to_numpy().astype(float)
        group = grouped(
            f"mathconverse.stopped_after.{turns:.0f}", f"{turns:.0f}", conversations, {"turns": f"{turns:.0f}"}
        )
        said = f"{{}} of conversations ({int(hits.sum()):,}) had {turns:.0f} turn{'' if turns == 1 else 's'}"
        found = share_of(hits, codes(conversations["uid"]))
        yield estimate(group, found, said, SHARE, "conversations", further={"count": float(hits.sum())})
