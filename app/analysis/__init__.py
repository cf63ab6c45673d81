"""What a study shows: plain functions on data frames in the released schemas' own columns, for notebooks too.

    from app.analysis import accuracy, frame
    for finding in accuracy(frame(database, "chatbench", "user_answers", "person")): ...

Each gives findings: estimates with their intervals, and the sentences that a methods section would say.
"""

from app.analysis.arena.votes import wins
from app.analysis.chatbench.accuracy import accuracy
from app.analysis.chatbench.by_dataset import accuracy_by_dataset, accuracy_table
from app.analysis.chatbench.correlations import correlations
from app.analysis.chatbench.durations import durations
from app.analysis.chatbench.filtering import counted, filter_counts, filter_table
from app.analysis.chatbench.gaps import gap_table, gaps, mean_gaps, model_gaps
from app.analysis.chatbench.mixed import mixed_model, odds
from app.analysis.chatbench.transitions import transitions
from app.analysis.chatbench.workers import quality_of_work, worker_table
from app.analysis.dices.agreement import agreement, alpha
from app.analysis.estimates import Estimate, Finding
from app.analysis.mathconverse.preference import ranks
from app.analysis.mathconverse.ratings import ratings, turns
from app.analysis.reading import frame, screen_times
from app.analysis.results import Results, results
from app.analysis.simulators import Quality, quality

__all__ = [
    "Estimate",
    "Finding",
    "Quality",
    "Results",
    "accuracy",
    "accuracy_by_dataset",
    "accuracy_table",
    "agreement",
    "alpha",
    "correlations",
    "counted",
    "durations",
    "filter_counts",
    "filter_table",
    "frame",
    "gap_table",
    "gaps",
    "mean_gaps",
    "mixed_model",
    "model_gaps",
    "odds",
    "quality",
    "quality_of_work",
    "ranks",
    "ratings",
    "results",
    "screen_times",
    "transitions",
    "turns",
    "wins",
    "worker_table",
]
