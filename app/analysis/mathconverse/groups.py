"""Helpfulness and correctness by expertise, turn, and confidence before the chat.

Three of the questions that CheckMate registered beforehand: how ratings change over a conversation, with a
participant's experience, and with their confidence to solve the problem alone (questions_to_ask.txt, Collins et al.).
Each mean is of rated replies, on the scales from 0 to 6, with an interval by participants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from app.analysis.estimates import NUMBER, Estimate, Finding, slug
from app.analysis.mathconverse.backgrounds import SHORT
from app.analysis.mathconverse.ratings import COLUMNS, METHOD, SCALE, SCALES, TABLE, grouped, mean_rating, turns
from storage.schemas.mathconverse import EXPERTISE, MISSING

EXPERTISE_COLUMNS = (*COLUMNS, "mth_bkgrd")
CONFIDENCE_COLUMNS = (*COLUMNS, "solo_solve")
FEWER = "Later turns come only from longer conversations; satisfied participants may stop early."
CONFIDENCE = tuple(map(str, range(7)))
"""`solo_solve`, from (0) Definitely could not solve on my own to (6) Definitely can solve on my own."""
Titles = Callable[[str], tuple[str, str]]
"""The label of a value, and the beginning of its sentence."""


def ratings_by_expertise(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """Mean helpfulness and correctness by the participants' experience with mathematics (`mth_bkgrd`).

    Names: `mathconverse.by_expertise.helpfulness.<expertise>`, `mathconverse.by_expertise.correctness.<expertise>`.
    """
    rated_turns = turns(interactions, ("mth_bkgrd",))

    def words(value: str) -> tuple[str, str]:
        label = "not said" if value == MISSING else value
        return label, f"Replies to participants with the experience “{label}”"

    return tuple(_findings(rated_turns, "expertise", "mth_bkgrd", (*EXPERTISE, MISSING), words))


def ratings_by_confidence(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """Mean helpfulness and correctness by confidence to solve the problem alone (`solo_solve`, 0 to 6).

    Names: `mathconverse.by_confidence.helpfulness.<confidence>`, `mathconverse.by_confidence.correctness.<confidence>`.
    """
    rated_turns = turns(interactions, ("solo_solve",))
    rated_turns = rated_turns.assign(solo_solve=rated_turns["solo_solve"].astype(str))

    def words(value: str) -> tuple[str, str]:
        label = "not said" if value == MISSING else f"{value} of 6"
        return label, f"Where the confidence to solve the problem alone was {label}, replies"

    return tuple(_findings(rated_turns, "confidence", "solo_solve", (*CONFIDENCE, MISSING), words))


def ratings_by_turn(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """Mean helpfulness and correctness of the first reply of a conversation, of the second, and so on.

    Names: `mathconverse.by_turn.helpfulness.<turn>`, `mathconverse.by_turn.correctness.<turn>`.
    """
    rated_turns = turns(interactions)
    values = [str(turn) for turn in range(1, int(rated_turns["turn"].max()) + 1)] if len(rated_turns) else []
    rated_turns = rated_turns.assign(turn=rated_turns["turn"].astype(str))
    return tuple(
        _findings(rated_turns, "turn", "turn", values, lambda turn: (f"turn {turn}", f"Replies of turn {turn}"))
    )


def _findings(
    rated_turns: pd.DataFrame, by: str, column: str, values: Sequence[str], words: Titles
) -> Iterator[Finding]:
    for scale in SCALES:
        estimates = tuple(
            _estimates(rated_turns[rated_turns[scale].notna()], f"mathconverse.by_{by}.{scale}", column, values, words)
        )
        if estimates:
            yield Finding(
                f"mathconverse.by_{by}.{scale}", f"{scale.capitalize()} by {by}", "ratings", NUMBER, SCALE, estimates,
                METHOD, f'ratings_by_{by}(frame(database, study, "{TABLE}", origin))',
                note=FEWER if by == "turn" else "",
            )  # fmt: skip


def _estimates(rated: pd.DataFrame, name: str, column: str, values: Sequence[str], words: Titles) -> Iterator[Estimate]:
    scale = name.rsplit(".", 1)[1]
    for value in values:
        rows = rated[rated[column] == value]
        if len(rows):
            label, said = words(value)
            group = grouped(f"{name}.{slug(SHORT.get(value, value))}", label, rows, {column: value})
            yield mean_rating(group, rows, scale, f"{said} had a mean {scale} of {{}} (of 6)")
