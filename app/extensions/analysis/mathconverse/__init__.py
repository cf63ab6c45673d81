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
    AnalysisStep(call(ratings, _RATED), quick=True),
    AnalysisStep(call(distribution, _RATED)),
    AnalysisStep(call(ratings_overall, _RATED)),
    AnalysisStep(call(ratings_by_turn, _RATED)),
    AnalysisStep(call(rating_trend, _RATED)),
    AnalysisStep(call(ratings_by_expertise, _EXPERTISE)),
    AnalysisStep(call(ratings_by_confidence, _CONFIDENCE)),
    AnalysisStep(call(rating_correlations, table(TABLE, CORRELATED))),
    AnalysisStep(call(divergence, _RATED)),
    AnalysisStep(call(ranks, _RANKED), quick=True),
    AnalysisStep(call(complete_ranks, _COMPLETE)),
    AnalysisStep(call(best_alone, _COMPLETE)),
    AnalysisStep(call(preferred, _RANKED)),
    AnalysisStep(call(preference_predicted, table(TABLE, PREDICTED_COLUMNS))),
    AnalysisStep(call(conversation_lengths, table(TABLE, LENGTH_COLUMNS))),
    AnalysisStep(call(backgrounds, table(TABLE, BACKGROUND_COLUMNS))),
)
TAXONOMY: tuple[AnalysisStep, ...] = (
    AnalysisStep(call(query_labels, _QUERIES)),
    AnalysisStep(call(query_types, _QUERIES, table(TABLE, CONVERSATION_COLUMNS))),
)
