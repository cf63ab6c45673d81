"""The analysis of MathConverse's tables and CheckMate's annotated queries. Collins et al., PNAS 2024."""

from app.extensions.analysis.base import AnalysisStep, call, table
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
    CORRELATED,
    TABLE,
    distribution,
    divergence,
    rating_correlations,
    rating_trend,
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
