"""Analyses of a study: plain functions on data frames with the released schemas' columns, also for notebooks.

    from parley_studies.analysis import accuracy, frame
    for finding in accuracy(frame(database, "chatbench", "user_answers", "person")): ...

Each function returns findings: estimates with intervals, and sentences for the methods section of a paper.
"""

from app.analysis.advice.calibration import calibration, calibration_error, partition
from app.analysis.advice.followed import advice_reliance
from app.analysis.advice.judgements import judgements
from app.analysis.advice.weight import weight_of_advice
from app.analysis.arena.bradley_terry import bradley_terry
from app.analysis.arena.comparisons import as_votes, win_matrix
from app.analysis.arena.pairwise import pairwise
from app.analysis.arena.position_bias import positions
from app.analysis.arena.strength import strengths
from app.analysis.arena.votes import wins
from app.analysis.chatbench.accuracy import accuracy
from app.analysis.chatbench.by_dataset import accuracy_by_dataset, accuracy_table
from app.analysis.chatbench.correlations import correlations
from app.analysis.chatbench.durations import durations
from app.analysis.chatbench.gaps import gap_table, gaps, mean_gaps, model_gaps
from app.analysis.chatbench.mixed_model import mixed_model, odds
from app.analysis.chatbench.preregistered_filter import counted, filter_counts, filter_table
from app.analysis.chatbench.questions import questions
from app.analysis.chatbench.reliance import advised, reliance
from app.analysis.chatbench.transitions import transitions
from app.analysis.chatbench.workers import quality_of_work, worker_table
from app.analysis.data_frames import frame, instrument_frame, screen_times, survey_frame
from app.analysis.dices.agreement import agreement, alpha, counts_of, dichotomy
from app.analysis.dices.answer_shares import answered, experts, majority
from app.analysis.dices.cohesion import gai, negentropy, normalised_xrr, plurality, voting_agreement, xrr
from app.analysis.dices.grasp import groups, kept_groups
from app.analysis.dices.grasp_measures import family
from app.analysis.dices.permutation import p_value
from app.analysis.dices.rater_pool import axes, axis, pool
from app.analysis.dices.rater_profiles import rater_profiles
from app.analysis.dices.raters import filtered, raters, without
from app.analysis.dices.unsafe import reasons, unsafe
from app.analysis.estimates import Estimate, Finding
from app.analysis.instruments.reliability import cronbach_alpha, omega_total, reliabilities
from app.analysis.instruments.scores import instrument_scores
from app.analysis.mathconverse.backgrounds import backgrounds
from app.analysis.mathconverse.correlation import correlation, rating_correlations
from app.analysis.mathconverse.distribution import distribution
from app.analysis.mathconverse.divergence import divergence
from app.analysis.mathconverse.groups import ratings_by_confidence, ratings_by_expertise, ratings_by_turn
from app.analysis.mathconverse.lengths import conversation_lengths
from app.analysis.mathconverse.pairs import preference_predicted, preferred
from app.analysis.mathconverse.preference import complete_ranks, ranks
from app.analysis.mathconverse.query_types import query_types
from app.analysis.mathconverse.ratings import ratings, ratings_overall, turns
from app.analysis.mathconverse.taxonomy import query_labels
from app.analysis.mathconverse.ties import best_alone
from app.analysis.mathconverse.trend import rating_trend
from app.analysis.p_values import benjamini_hochberg, holm
from app.analysis.results import Results, results
from app.analysis.simulator_quality import SimulatorQuality, quality
from app.analysis.survey.survey_results import survey_results
from app.analysis.tidy_frames import TidyData, load
from storage.datasets.exports.session_filter import SessionFilter

__all__ = [
    "Estimate",
    "Finding",
    "Results",
    "SessionFilter",
    "SimulatorQuality",
    "TidyData",
    "accuracy",
    "accuracy_by_dataset",
    "accuracy_table",
    "advice_reliance",
    "advised",
    "agreement",
    "alpha",
    "answered",
    "as_votes",
    "axes",
    "axis",
    "backgrounds",
    "benjamini_hochberg",
    "best_alone",
    "bradley_terry",
    "calibration",
    "calibration_error",
    "complete_ranks",
    "conversation_lengths",
    "correlation",
    "correlations",
    "counted",
    "counts_of",
    "cronbach_alpha",
    "dichotomy",
    "distribution",
    "divergence",
    "durations",
    "experts",
    "family",
    "filter_counts",
    "filter_table",
    "filtered",
    "frame",
    "gai",
    "gap_table",
    "gaps",
    "groups",
    "holm",
    "instrument_frame",
    "instrument_scores",
    "judgements",
    "kept_groups",
    "load",
    "majority",
    "mean_gaps",
    "mixed_model",
    "model_gaps",
    "negentropy",
    "normalised_xrr",
    "odds",
    "omega_total",
    "p_value",
    "pairwise",
    "partition",
    "plurality",
    "pool",
    "positions",
    "preference_predicted",
    "preferred",
    "quality",
    "quality_of_work",
    "query_labels",
    "query_types",
    "questions",
    "ranks",
    "rater_profiles",
    "raters",
    "rating_correlations",
    "rating_trend",
    "ratings",
    "ratings_by_confidence",
    "ratings_by_expertise",
    "ratings_by_turn",
    "ratings_overall",
    "reasons",
    "reliabilities",
    "reliance",
    "results",
    "screen_times",
    "strengths",
    "survey_frame",
    "survey_results",
    "transitions",
    "turns",
    "unsafe",
    "voting_agreement",
    "weight_of_advice",
    "win_matrix",
    "wins",
    "without",
    "worker_table",
    "xrr",
]
