"""The analysis of the arena's votes. Zheng et al., NeurIPS 2023."""

from collections.abc import Mapping

from app.analysis.arena.bradley_terry import bradley_terry
from app.analysis.arena.pairwise import pairwise
from app.analysis.arena.position_bias import positions
from app.analysis.arena.votes import VOTE_COLUMNS, VOTES, wins
from app.analysis.base import AnalysisStep, of_one

PARTS: tuple[AnalysisStep, ...] = (
    of_one("Votes", VOTES, VOTE_COLUMNS, wins, quick=True),
    of_one("Strengths", VOTES, VOTE_COLUMNS, bradley_terry),
    of_one("Win rates between two models", VOTES, VOTE_COLUMNS, pairwise),
    of_one("Win rates by position", VOTES, VOTE_COLUMNS, positions),
)
NAMES: Mapping[str, str] = {
    "arena.win_rate.<model>": "share of votes won, of those with a winner that showed the model",
    "arena.ties.<kind>": "share of all votes that are ties",
    "arena.bradley_terry.<model>": "Bradley-Terry strength: log-odds of winning against a model of mean strength",
    "arena.elo.<model>": "Bradley-Terry strength on the arena's scale: 400 points are odds of 10 to 1, mean 1000",
    "arena.pairwise.<model>.<other>": "share of votes between two models won by the first, ties counting half",
    "arena.position.<slot>": "share of votes with a winner won by the model in position a, b, c or d",
}
