"""The presentation of MathConverse's findings and of CheckMate's annotated queries; models are in the paper's order."""

from app.analysis.outline import Contrast, Figure, Line, Outline, OutlineTopic, one


def _both(by: str, title: str, *, folded: bool = False) -> Figure:
    """Helpfulness and correctness by something, in one table."""
    names = {f"mathconverse.by_{by}.{scale}": scale for scale in ("helpfulness", "correctness")}
    return Figure(names, title, folded)


OUTLINE = Outline(
    contrasts=(
        Contrast(
            "Helpfulness and correctness",
            (
                (
                    Line("mathconverse.pearson.helpfulness_correctness"),
                    Line("mathconverse.pearson.helpfulness_correctness_without_0"),
                ),
                (Line("mathconverse.divergence.<cell>"),),
                (Line("mathconverse.mean.helpfulness.all"), Line("mathconverse.mean.correctness.all")),
            ),
        ),
        Contrast(
            "Which model is preferred",
            (
                (
                    Line("mathconverse.best_or_tied.<model>", "Ranked best, alone or tied, in sets of problems"),
                    Line("mathconverse.mean_rank.<model>", "Mean rank (1 is the best)"),
                    Line("mathconverse.predicts_preference.<rating>"),
                ),
            ),
        ),
        Contrast(
            "Ratings by model",
            (
                (
                    Line("mathconverse.mean.helpfulness.<model>", "Mean helpfulness, of 6"),
                    Line("mathconverse.mean.correctness.<model>", "Mean correctness, of 6"),
                ),
            ),
        ),
    ),
    topics=(
        OutlineTopic(
            "Helpfulness and correctness",
            (
                one("mathconverse.distribution"),
                Figure(
                    {"mathconverse.pearson": "Pearson", "mathconverse.spearman": "Spearman"}, "Correlations of ratings"
                ),
                Figure(
                    {
                        "mathconverse.mean.helpfulness": "helpfulness",
                        "mathconverse.mean.correctness": "correctness",
                        "mathconverse.mean.helpfulness_without_0": "helpfulness, without 0",
                        "mathconverse.mean.correctness_without_0": "correctness, without 0",
                    },
                    "Mean ratings by model",
                ),
                one("mathconverse.mean_of_all", folded=True),
                one("mathconverse.divergence", folded=True),
            ),
        ),
        OutlineTopic(
            "Preference",
            (
                Figure(
                    {
                        "mathconverse.mean_rank": "mean rank",
                        "mathconverse.best_or_tied": "best or tied",
                        "mathconverse.strict_best": "best alone",
                    },
                    "Preference by model (rank 1 is the best)",
                ),
                one("mathconverse.preferred"),
                one("mathconverse.predicts_preference"),
                Figure(
                    {
                        "mathconverse.mean_rank_complete": "mean rank",
                        "mathconverse.best_or_tied_complete": "best or tied",
                        "mathconverse.strict_best_complete": "best alone",
                    },
                    "Preference by model, complete sets",
                    folded=True,
                ),
                Figure(
                    {"mathconverse.ties": "all sets", "mathconverse.ties_complete": "complete sets"},
                    "Ties between models",
                    folded=True,
                ),
            ),
        ),
        OutlineTopic(
            "Over the conversation",
            (
                _both("turn", "Mean ratings by turn"),
                one("mathconverse.trend"),
                one("mathconverse.turns", folded=True),
                one("mathconverse.turns_by_model", folded=True),
                one("mathconverse.stopped_after", folded=True),
            ),
        ),
        OutlineTopic(
            "By experience and confidence",
            (
                _both("expertise", "Mean ratings by experience with mathematics"),
                _both("confidence", "Mean ratings by confidence to solve the problem alone"),
            ),
        ),
        OutlineTopic(
            "Backgrounds of the participants",
            (
                one("mathconverse.participants.expertise", folded=True),
                one("mathconverse.participants.ai_experience", folded=True),
                one("mathconverse.participants.topic", folded=True),
            ),
        ),
    ),
    order={"model": ("instructgpt", "chatgpt", "chatgpt4")},
)
TAXONOMY = Outline(
    contrasts=(
        Contrast("What people ask for", ((Line("taxonomy.label.<label>", "Most frequent kinds of messages", 3),),)),
    ),
    topics=(
        OutlineTopic(
            "Kinds of queries",
            (
                one("taxonomy.label"),
                one("taxonomy.labels", folded=True),
                one("taxonomy.by_model"),
                one("taxonomy.by_expertise", folded=True),
                one("taxonomy.by_confidence", folded=True),
                one("taxonomy.by_turn"),
            ),
        ),
    ),
    order={"model": OUTLINE.order["model"]},
)
