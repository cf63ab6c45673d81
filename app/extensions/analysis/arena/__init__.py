"""The analysis of the arena's votes. Zheng et al., NeurIPS 2023."""

from collections.abc import Mapping

from app.extensions.analysis.arena.bradley_terry import bradley_terry
from app.extensions.analysis.arena.votes import VOTE_COLUMNS, VOTES, pairwise, positions, wins
from app.extensions.analysis.base import AnalysisStep, call, table

_VOTES = table(VOTES, VOTE_COLUMNS)
PARTS: tuple[AnalysisStep, ...] = (
    AnalysisStep("Votes", call(wins, _VOTES), quick=True),
    AnalysisStep("Strengths", call(bradley_terry, _VOTES)),
    AnalysisStep("Win rates between two models", call(pairwise, _VOTES)),
    AnalysisStep("Win rates by position", call(positions, _VOTES)),
)
NAMES: Mapping[str, str] = {
    "arena.win_rate.<model>": "share of votes won, of those with a winner that showed the model",
    "arena.ties.<kind>": "share of all votes that are ties",
    "arena.bradley_terry.<model>": "Bradley-Terry strength: log-odds of winning against a model of mean strength",
    "arena.elo.<model>": "Bradley-Terry strength on the arena's scale: 400 points are odds of 10 to 1, mean 1000",
    "arena.pairwise.<model>.<other>": "share of votes between two models won by the first, ties counting half",
    "arena.position.<slot>": "share of votes with a winner won by the model in position a, b, c or d",
}
