"""The analysis of MathConverse's tables and CheckMate's annotated queries. Collins et al., PNAS 2024."""

from collections.abc import Mapping

from app.extensions.analysis.base import AnalysisStep, call, table
from app.extensions.analysis.mathconverse.correlation import CORRELATED, rating_correlations, rating_trend
from app.extensions.analysis.mathconverse.participants import (
    BACKGROUND_COLUMNS,
    LENGTH_COLUMNS,
    backgrounds,
    conversation_lengths,
)
from app.extensions.analysis.mathconverse.preference import (
    COMPLETE_COLUMNS,
    PREDICTED_COLUMNS,
    RANK_COLUMNS,
    best_alone,
    complete_ranks,
    preference_predicted,
    preferred,
    ranks,
)
from app.extensions.analysis.mathconverse.queries import (
    CONVERSATION_COLUMNS,
    QUERIES,
    QUERY_COLUMNS,
    query_labels,
    query_types,
)
from app.extensions.analysis.mathconverse.ratings import (
    COLUMNS,
    HELPFUL,
    RIGHT,
    TABLE,
    UNHELPFUL,
    WRONG,
    distribution,
    divergence,
    ratings,
    ratings_by_confidence,
    ratings_by_expertise,
    ratings_by_turn,
    ratings_overall,
)

_RATED, _RANKED = table(TABLE, COLUMNS), table(TABLE, RANK_COLUMNS)
_EXPERTISE, _CONFIDENCE = table(TABLE, (*COLUMNS, "mth_bkgrd")), table(TABLE, (*COLUMNS, "solo_solve"))
_COMPLETE = table(TABLE, COMPLETE_COLUMNS)
_QUERIES = table(QUERIES, QUERY_COLUMNS)
PARTS: tuple[AnalysisStep, ...] = (
    AnalysisStep("Ratings", call(ratings, _RATED), quick=True),
    AnalysisStep("Distribution of ratings", call(distribution, _RATED)),
    AnalysisStep("Ratings over all models", call(ratings_overall, _RATED)),
    AnalysisStep("Ratings by turn", call(ratings_by_turn, _RATED)),
    AnalysisStep("Change of ratings", call(rating_trend, _RATED)),
    AnalysisStep("Ratings by expertise", call(ratings_by_expertise, _EXPERTISE)),
    AnalysisStep("Ratings by confidence", call(ratings_by_confidence, _CONFIDENCE)),
    AnalysisStep("Correlations of ratings", call(rating_correlations, table(TABLE, CORRELATED))),
    AnalysisStep("Divergence of ratings", call(divergence, _RATED)),
    AnalysisStep("Preference", call(ranks, _RANKED), quick=True),
    AnalysisStep("Preference in complete sets", call(complete_ranks, _COMPLETE)),
    AnalysisStep("Best alone, and ties", call(best_alone, _COMPLETE)),
    AnalysisStep("Preference between two", call(preferred, _RANKED)),
    AnalysisStep("Preference predicted by ratings", call(preference_predicted, table(TABLE, PREDICTED_COLUMNS))),
    AnalysisStep("Lengths of conversations", call(conversation_lengths, table(TABLE, LENGTH_COLUMNS))),
    AnalysisStep("Backgrounds", call(backgrounds, table(TABLE, BACKGROUND_COLUMNS))),
)
TAXONOMY: tuple[AnalysisStep, ...] = (
    AnalysisStep("Labels of queries", call(query_labels, _QUERIES)),
    AnalysisStep("Kinds of queries", call(query_types, _QUERIES, table(TABLE, CONVERSATION_COLUMNS))),
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
    "mathconverse.divergence.<cell>": (
        f"share of replies that are `right_unhelpful` (correctness {RIGHT}, helpfulness at most {UNHELPFUL}) or "
        f"`helpful_wrong` (helpfulness at least {HELPFUL}, correctness 1 to {WRONG}; 0 means no mathematics, not wrong)"
    ),
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
