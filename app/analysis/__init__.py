"""What a study shows: plain functions on data frames in the released schemas' own columns, for notebooks too.

    from app.analysis import accuracy, frame
    for finding in accuracy(frame(database, "chatbench", "user_answers", "person")): ...

Each gives findings: estimates with their intervals, and the sentences that a methods section would say.
"""

from app.analysis.arena.votes import wins
from app.analysis.chatbench.accuracy import accuracy
from app.analysis.dices.agreement import agreement, alpha
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
    "agreement",
    "alpha",
    "frame",
    "quality",
    "ranks",
    "ratings",
    "results",
    "turns",
    "wins",
]
