"""What is found in the arena's votes. Zheng et al., NeurIPS 2023."""

from collections.abc import Mapping

from app.analysis.arena.bradley_terry import bradley_terry
from app.analysis.arena.pairwise import pairwise
from app.analysis.arena.position_bias import positions
from app.analysis.arena.votes import VOTE_COLUMNS, VOTES, wins
from app.analysis.base import AnalysisStep, of_one

PARTS: tuple[AnalysisStep, ...] = (
    of_one("Votes", VOTES, VOTE_COLUMNS, wins, quick=True),
    of_one("Strengths", VOTES, VOTE_COLUMNS, bradley_terry),
    of_one("Win rates between two", VOTES, VOTE_COLUMNS, pairwise),
    of_one("Win rates by place", VOTES, VOTE_COLUMNS, positions),
)
NAMES: Mapping[str, str] = {
    "arena.win_rate.<model>": "share of the votes with a winner that it took part in",
    "arena.ties.<kind>": "share of all votes that are ties",
    "arena.bradley_terry.<model>": "Bradley-Terry strength: log-odds against a model of mean strength",
    "arena.elo.<model>": "the same on the arena's scale: 400 points are odds of 10 to 1, the mean is 1000",
    "arena.pairwise.<model>.<other>": "share of the votes between two models that the first won, ties counting half",
    "arena.position.<slot>": "share of the votes with a winner that the model in place a, b, c or d won",
}
