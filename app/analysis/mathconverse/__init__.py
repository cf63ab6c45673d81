"""What is found in MathConverse's tables. Collins et al., PNAS 2024."""

from collections.abc import Mapping

from app.analysis.mathconverse.preference import RANK_COLUMNS, RANKS, ranks
from app.analysis.mathconverse.ratings import COLUMNS, TABLE, ratings
from app.analysis.parts import Part, of_one

PARTS: tuple[Part, ...] = (
    of_one("Ratings", TABLE, COLUMNS, ratings, quick=True),
    of_one("Preference", RANKS, RANK_COLUMNS, ranks, quick=True),
)
NAMES: Mapping[str, str] = {
    "mathconverse.mean.helpfulness.<model>": "mean helpfulness of rated replies, 0 to 6",
    "mathconverse.mean.correctness.<model>": "mean correctness of rated replies, 0 to 6",
    "mathconverse.mean.correctness_without_0.<model>": "the same without replies that hold no mathematics",
    "mathconverse.mean_rank.<model>": "mean rank, 1 is the best",
    "mathconverse.best_or_tied.<model>": "share of sets in which it was ranked best, alone or tied",
}
