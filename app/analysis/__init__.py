"""What a study shows: plain functions on data frames in the released schemas' own columns, for notebooks too.

    from app.analysis import accuracy, frame
    for finding in accuracy(frame(database, "chatbench", "user_answers", "person")): ...

Each gives findings: estimates with their intervals, and the sentences that a methods section would say.
"""

from app.analysis.arena.bradley_terry import bradley_terry
from app.analysis.arena.comparisons import as_votes, win_matrix
from app.analysis.arena.pairwise import pairwise
from app.analysis.arena.position import positions
from app.analysis.arena.strength import strengths
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
from app.analysis.mathconverse.backgrounds import backgrounds
from app.analysis.mathconverse.correlation import correlation, rating_correlations
from app.analysis.mathconverse.divergence import divergence
from app.analysis.mathconverse.groups import ratings_by_confidence, ratings_by_expertise, ratings_by_turn
from app.analysis.mathconverse.lengths import conversation_lengths
from app.analysis.mathconverse.pairs import preference_predicted, preferred
from app.analysis.mathconverse.preference import complete_ranks, ranks
from app.analysis.mathconverse.ratings import ratings, ratings_overall, turns
from app.analysis.mathconverse.taxonomy import query_labels
from app.analysis.mathconverse.ties import best_alone
from app.analysis.mathconverse.trend import rating_trend
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
    "as_votes",
    "backgrounds",
    "best_alone",
    "bradley_terry",
    "complete_ranks",
    "conversation_lengths",
    "correlation",
    "correlations",
    "counted",
    "divergence",
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
    "pairwise",
    "positions",
    "preference_predicted",
    "preferred",
    "quality",
    "quality_of_work",
    "query_labels",
    "ranks",
    "rating_correlations",
    "rating_trend",
    "ratings",
    "ratings_by_confidence",
    "ratings_by_expertise",
    "ratings_by_turn",
    "ratings_overall",
    "results",
    "screen_times",
    "strengths",
    "transitions",
    "turns",
    "win_matrix",
    "wins",
    "worker_table",
]
