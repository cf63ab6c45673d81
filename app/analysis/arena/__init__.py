"""What is found in the arena's votes. Zheng et al., NeurIPS 2023."""

from collections.abc import Mapping

from app.analysis.arena.votes import VOTE_COLUMNS, VOTES, wins
from app.analysis.parts import Part, of_one

PARTS: tuple[Part, ...] = (of_one("Votes", VOTES, VOTE_COLUMNS, wins, quick=True),)
NAMES: Mapping[str, str] = {
    "arena.win_rate.<model>": "share of the votes with a winner that it took part in",
    "arena.ties.<kind>": "share of all votes that are ties",
}
