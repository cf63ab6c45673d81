"""The analysis of MathConverse's tables and CheckMate's annotated queries. Collins et al., PNAS 2024."""

from collections.abc import Mapping

from app.analysis.base import AnalysisStep, of_one
from app.analysis.mathconverse.backgrounds import BACKGROUND_COLUMNS, backgrounds
from app.analysis.mathconverse.correlation import CORRELATED, rating_correlations
from app.analysis.mathconverse.distribution import distribution
from app.analysis.mathconverse.divergence import divergence
from app.analysis.mathconverse.groups import (
    CONFIDENCE_COLUMNS,
    EXPERTISE_COLUMNS,
    ratings_by_confidence,
    ratings_by_expertise,
    ratings_by_turn,
)
from app.analysis.mathconverse.lengths import LENGTH_COLUMNS, conversation_lengths
from app.analysis.mathconverse.pairs import PREDICTED_COLUMNS, preference_predicted, preferred
from app.analysis.mathconverse.preference import COMPLETE_COLUMNS, RANK_COLUMNS, RANKS, complete_ranks, ranks
from app.analysis.mathconverse.query_types import CONVERSATION_COLUMNS, query_types_of
from app.analysis.mathconverse.ratings import COLUMNS, TABLE, ratings, ratings_overall
from app.analysis.mathconverse.taxonomy import QUERIES, QUERY_COLUMNS, query_labels
from app.analysis.mathconverse.ties import best_alone
from app.analysis.mathconverse.trend import rating_trend

PARTS: tuple[AnalysisStep, ...] = (
    of_one("Ratings", TABLE, COLUMNS, ratings, quick=True),
    of_one("Distribution of ratings", TABLE, COLUMNS, distribution),
    of_one("Ratings over all models", TABLE, COLUMNS, ratings_overall),
    of_one("Ratings by turn", TABLE, COLUMNS, ratings_by_turn),
    of_one("Change of ratings", TABLE, COLUMNS, rating_trend),
    of_one("Ratings by expertise", TABLE, EXPERTISE_COLUMNS, ratings_by_expertise),
    of_one("Ratings by confidence", TABLE, CONFIDENCE_COLUMNS, ratings_by_confidence),
    of_one("Correlations of ratings", TABLE, CORRELATED, rating_correlations),
    of_one("Divergence of ratings", TABLE, COLUMNS, divergence),
    of_one("Preference", RANKS, RANK_COLUMNS, ranks, quick=True),
    of_one("Preference in complete sets", RANKS, COMPLETE_COLUMNS, complete_ranks),
    of_one("Best alone, and ties", RANKS, COMPLETE_COLUMNS, best_alone),
    of_one("Preference between two", RANKS, RANK_COLUMNS, preferred),
    of_one("Preference predicted by ratings", RANKS, PREDICTED_COLUMNS, preference_predicted),
    of_one("Lengths of conversations", TABLE, LENGTH_COLUMNS, conversation_lengths),
    of_one("Backgrounds", TABLE, BACKGROUND_COLUMNS, backgrounds),
)
TAXONOMY: tuple[AnalysisStep, ...] = (
    of_one("Labels of queries", QUERIES, QUERY_COLUMNS, query_labels),
    AnalysisStep("Kinds of queries", {QUERIES: QUERY_COLUMNS, TABLE: CONVERSATION_COLUMNS}, query_types_of),
)
"""The parts for `taxonomy`."""
NAMES: Mapping[str, str] = {
    "mathconverse.mean.helpfulness.<model>": "mean helpfulness of rated replies, 0 to 6; `all` is over all models",
    "mathconverse.mean.correctness.<model>": "mean correctness of rated replies, 0 to 6; `all` is over all models",
    "mathconverse.mean.helpfulness_without_0.<model>": "mean helpfulness of replies that contain mathematics",
    "mathconverse.mean.correctness_without_0.<model>": "mean correctness of replies that contain mathematics",
    "mathconverse.distribution.<rating>.<value>": "share of rated replies with this rating, 0 to 6",
    "mathconverse.by_turn.helpfulness.<turn>": "mean helpfulness of a conversation's replies by turn: 1, 2, ...",
    "mathconverse.by_turn.correctness.<turn>": "mean correctness of a conversation's replies by turn: 1, 2, ...",
    "mathconverse.trend.<rating>": "change of ratings in points per turn; `..._within` is within conversations",
    "mathconverse.by_expertise.helpfulness.<expertise>": "mean helpfulness by experience with mathematics: phd, ...",
    "mathconverse.by_expertise.correctness.<expertise>": "mean correctness by experience with mathematics: phd, ...",
    "mathconverse.by_confidence.helpfulness.<confidence>": "mean helpfulness by confidence to solve it alone, 0 to 6",
    "mathconverse.by_confidence.correctness.<confidence>": "mean correctness by confidence to solve it alone, 0 to 6",
    "mathconverse.pearson.<ratings>": "Pearson's correlation of two ratings; `..._without_0`: without correctness 0",
    "mathconverse.spearman.<ratings>": "Spearman's correlation of two ratings; `..._without_0`: without correctness 0",
    "mathconverse.divergence.<cell>": "share of replies that are `right_unhelpful` or `helpful_wrong`",
    "mathconverse.mean_rank.<model>": "mean rank of the model; 1 is the best",
    "mathconverse.best_or_tied.<model>": "share of sets in which the model was ranked best, alone or tied",
    "mathconverse.mean_rank_complete.<model>": "mean rank in complete sets (a conversation with each ranked model)",
    "mathconverse.best_or_tied_complete.<model>": (
        "share of complete sets in which the model was ranked best, alone or tied"
    ),
    "mathconverse.strict_best.<model>": "share of sets in which only this model was ranked best",
    "mathconverse.strict_best_complete.<model>": "share of complete sets in which only this model was ranked best",
    "mathconverse.ties.<kind>": "share of sets in which `some` models, or `all`, share a rank",
    "mathconverse.ties_complete.<kind>": "share of complete sets in which `some` models, or `all`, share a rank",
    "mathconverse.preferred.<model>.<other>": (
        "share of sets in which the first model was ranked better, ties counting half"
    ),
    "mathconverse.predicts_preference.<rating>": "share of pairs in which the model rated higher was preferred",
    "mathconverse.turns.<statistic>": "number of turns in a conversation: `mean`, `median`, `max`",
    "mathconverse.turns_by_model.<model>": "mean number of turns in conversations with the model",
    "mathconverse.stopped_after.<turns>": "share of conversations with this number of turns",
    "mathconverse.participants.expertise.<option>": "share of participants by experience with mathematics",
    "mathconverse.participants.ai_experience.<option>": "share of participants by experience with AI",
    "mathconverse.participants.topic.<option>": "share of participants by chosen topic",
    "taxonomy.label.<label>": "share of labelled messages with the label",
    "taxonomy.by_model.<model>.<label>": "share of labelled messages to the model with the label",
    "taxonomy.by_expertise.<expertise>.<label>": (
        "share of labelled messages with the label, by experience with mathematics"
    ),
    "taxonomy.by_confidence.<confidence>.<label>": (
        "share of labelled messages with the label, by confidence to solve the problem alone, 0 to 6"
    ),
    "taxonomy.by_turn.<turn>.<label>": "share of labelled messages with the label, by turn: 1, ..., `5-or-later`",
    "taxonomy.labels.<number>": "share of labelled messages with `none` of the ten labels, or `several`",
}
QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "How do ratings change over the course of a conversation?": (
        "mathconverse.trend", "mathconverse.by_turn.helpfulness", "mathconverse.by_turn.correctness",
    ),
    "How many steps do participants take, and when do they stop?": (
        "mathconverse.turns", "mathconverse.turns_by_model", "mathconverse.stopped_after",
    ),
    "What kinds of queries do people make?": (
        "taxonomy.label", "taxonomy.labels", "taxonomy.by_model", "taxonomy.by_turn",
    ),
    "How do ratings differ with experience?": (
        "mathconverse.by_expertise.helpfulness", "mathconverse.by_expertise.correctness", "taxonomy.by_expertise",
    ),
    "Is GPT-4 consistently preferred?": (
        "mathconverse.preferred", "mathconverse.strict_best", "mathconverse.mean_rank",
        "mathconverse.mean_rank_complete",
    ),
    "Do helpfulness and correctness predict the preference?": ("mathconverse.predicts_preference",),
    "Are helpfulness and correctness correlated?": (
        "mathconverse.pearson", "mathconverse.spearman", "mathconverse.divergence",
    ),
    "Does confidence before the chat change ratings?": (
        "mathconverse.by_confidence.helpfulness", "mathconverse.by_confidence.correctness", "mathconverse.spearman",
        "taxonomy.by_confidence",
    ),
}  # fmt: skip
"""The eight questions that CheckMate registered beforehand (questions_to_ask.txt), each with the findings about it."""
