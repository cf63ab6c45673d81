"""What a study shows: plain functions on data frames in the released schemas' own columns, for notebooks too.

    from app.analysis import accuracy, frame
    for finding in accuracy(frame(database, "chatbench", "user_answers", "person")): ...

Each gives findings: estimates with their intervals, and the sentences that a methods section would say.
"""

from app.analysis.arena.votes import wins
from app.analysis.chatbench.accuracy import accuracy
from app.analysis.dices.agreement import agreement, alpha, counts_of, dichotomy
from app.analysis.dices.answers import answered, experts, majority
from app.analysis.dices.cohesion import gai, negentropy, normalised_xrr, plurality, voting_agreement, xrr
from app.analysis.dices.family import family
from app.analysis.dices.grasp import groups, kept_groups
from app.analysis.dices.permutation import adjusted, p_value
from app.analysis.dices.pool import axes, axis, pool
from app.analysis.dices.raters import filtered, raters, without
from app.analysis.estimates import Estimate, Finding
from app.analysis.mathconverse.preference import ranks
from app.analysis.mathconverse.ratings import ratings, turns
from app.analysis.reading import frame
from app.analysis.results import Results, results
from app.analysis.simulators import Quality, quality

__all__ = [
    "Estimate",
    "Finding",
    "Quality",
    "Results",
    "accuracy",
    "adjusted",
    "agreement",
    "alpha",
    "answered",
    "axes",
    "axis",
    "counts_of",
    "dichotomy",
    "experts",
    "family",
    "filtered",
    "frame",
    "gai",
    "groups",
    "kept_groups",
    "majority",
    "negentropy",
    "normalised_xrr",
    "p_value",
    "plurality",
    "pool",
    "quality",
    "ranks",
    "raters",
    "ratings",
    "results",
    "turns",
    "voting_agreement",
    "wins",
    "without",
    "xrr",
]
