"""MathConverse's participants: experience with mathematics, experience with AI, and the chosen topic."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from app.analysis.estimates import SHARE, Estimate, Finding, estimate, slug
from app.analysis.intervals import codes, share_of
from app.analysis.mathconverse.ratings import TABLE, grouped
from storage.schemas.mathconverse import EXPERIENCE, EXPERTISE, MISSING, TOPICS

BACKGROUND_COLUMNS = ("uid", "mth_bkgrd", "ai_play_bkgrd", "selected_topic")
ASKED = {
    "expertise": ("mth_bkgrd", EXPERTISE, "experience with mathematics"),
    "ai_experience": ("ai_play_bkgrd", EXPERIENCE, "experience with AI"),
    "topic": ("selected_topic", TOPICS, "topic"),
}
"""The questions to a participant: column, options and label."""
SHORT = dict(zip(EXPERTISE, ("undergraduate", "degree", "masters", "phd", "professor", "never"), strict=True))
"""Experience with mathematics, in estimates' names."""
METHOD = (
    "Each participant counts once. The 95 % interval is Wilson's with Student's t, for the share in the population "
    "from which participants come."
)


def backgrounds(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """The share of participants with each background that occurs; empty without participants.

    Names: `mathconverse.participants.expertise.<option>`, `.ai_experience.<option>`, `.topic.<option>`; the number of
    participants is in `further["count"]`, and MISSING means no answer.
    """
    people = interactions.drop_duplicates("uid")
    code = f'backgrounds(frame(database, study, "{TABLE}", origin))'
    found = (
        Finding(
            f"mathconverse.participants.{name}", f"Participants by {words}", "answers", SHARE, (0, 1),
            tuple(_options(people, name)), METHOD, code,
        )
        for name, (_, _, words) in ASKED.items()
    )  # fmt: skip
    return tuple(finding for finding in found if finding.estimates)


def _options(people: pd.DataFrame, name: str) -> Iterator[Estimate]:
    column, options, words = ASKED[name]
    for option in (*options, MISSING):
        hits = (people[column] == option).to_numpy().astype(float)
        if hits.any():
            label = "not said" if option == MISSING else option
            group = grouped(
                f"mathconverse.participants.{name}.{slug(SHORT.get(option, option))}", label, people, {column: option}
            )
            said = f"{{}} of participants ({int(hits.sum()):,}) had the {words} “{label}”"
            found = share_of(hits, codes(people["uid"]))
            yield estimate(group, found, said, SHARE, "answers", further={"count": float(hits.sum())})
