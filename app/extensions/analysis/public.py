# mypy: implicit-reexport
# ruff: noqa: F401
"""Analyses of a study: plain functions on data frames with the released schemas' columns, also for notebooks.

    from parley_studies.analysis import accuracy, frame
    for finding in accuracy(frame(database, "chatbench", "user_answers", "person")): ...

Each function returns findings: estimates with intervals, and sentences for the methods section of a paper.
What is imported here is public, as parley_studies.analysis.
"""

from app.extensions.analysis.advice import advice_reliance, calibration, calibration_error, judgements, weight_of_advice
from app.extensions.analysis.arena import bradley_terry, pairwise, positions, strengths, wins
from app.extensions.analysis.chatbench.accuracy import accuracy, accuracy_by_arm, counted, filter_counts
from app.extensions.analysis.chatbench.by_dataset import (
    accuracy_by_dataset,
    accuracy_table,
    gap_table,
    gaps,
    mean_gaps,
    model_gaps,
)
from app.extensions.analysis.chatbench.correlations import correlations, questions
from app.extensions.analysis.chatbench.reliance import advised, reliance, transitions
from app.extensions.analysis.data_frames import (
    answer_frame,
    conversation_frame,
    frame,
    instrument_frame,
    survey_frame,
    wave_frame,
)
from app.extensions.analysis.dices.agreement import (
    agreement,
    alpha,
    axes,
    axis,
    counts_of,
    dichotomy,
    gai,
    negentropy,
    normalised_xrr,
    plurality,
    pool,
    voting_agreement,
    xrr,
)
from app.extensions.analysis.dices.answer_shares import answered, experts, majority, rater_profiles, reasons, unsafe
from app.extensions.analysis.dices.grasp import family, groups, kept_groups, p_value
from app.extensions.analysis.estimates import Estimate, Finding
from app.extensions.analysis.fidelity import adherence, dose, model_versions
from app.extensions.analysis.instruments import cronbach_alpha, instrument_scores, omega_total, reliabilities
from app.extensions.analysis.intervals import benjamini_hochberg, holm
from app.extensions.analysis.mathconverse.participants import backgrounds, conversation_lengths
from app.extensions.analysis.mathconverse.preference import (
    best_alone,
    complete_ranks,
    preference_predicted,
    preferred,
    ranks,
)
from app.extensions.analysis.mathconverse.queries import query_labels, query_types
from app.extensions.analysis.mathconverse.ratings import (
    correlation,
    distribution,
    divergence,
    rating_correlations,
    rating_trend,
    ratings,
    ratings_by_confidence,
    ratings_by_expertise,
    ratings_by_turn,
    ratings_overall,
    turns,
)
from app.extensions.analysis.option_positions import chosen_positions, position_tests, right_by_position
from app.extensions.analysis.results import Results, results
from app.extensions.analysis.survey import survey_results
from app.extensions.analysis.tidy_frames import TidyData, load
from app.extensions.analysis.waves import attrition, growth, lee_bounds, sensitivity
from storage.datasets.exports.session_filter import SessionFilter
