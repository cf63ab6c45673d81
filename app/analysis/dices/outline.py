"""The presentation of DICES's findings."""

from app.analysis.outline import Contrast, Figure, Line, Outline, OutlineTopic, one

GRASP = {
    "irr": "IRR",
    "xrr": "XRR",
    "gai": "GAI",
    "plurality": "plurality",
    "negentropy": "negentropy",
    "voting_agreement": "votes",
}
"""The measures of groups of raters, with their headings."""


def _grasp(prefix: str, title: str, *, folded: bool = False) -> Figure:
    return Figure({f"{prefix}.{name}": head for name, head in GRASP.items()}, title, folded)


OUTLINE = Outline(
    contrasts=(
        Contrast(
            "Agreement",
            ((Line("dices.alpha_nominal.Q_overall"),), (Line("dices.alpha_nominal.<column>"),)),
        ),
        Contrast(
            "Unsafe or not",
            ((Line("dices.answers.Yes"), Line("dices.said_unsafe.<gold>"), Line("dices.gold_agreement.all")),),
        ),
        Contrast(
            "Who says unsafe",
            (
                tuple(
                    Line(f"dices.yes.{axis}.<group>", f"Share of ratings that are Yes, by {words}")
                    for axis, words in (
                        ("gender", "gender"),
                        ("race", "race"),
                        ("age", "age"),
                        ("locale", "country"),
                        ("degree_of_harm", "degree of harm"),
                    )
                ),
            ),
        ),
    ),
    topics=(
        OutlineTopic(
            "Agreement",
            (
                Figure(
                    {
                        "dices.alpha_nominal": "nominal",
                        "dices.alpha_ordinal": "ordinal",
                        "dices.alpha_yes": "Yes or not",
                    },
                    "Krippendorff's alpha",
                ),
                one("dices.one_answer"),
                one("dices.filtered", folded=True),
            ),
        ),
        OutlineTopic(
            "What raters say",
            (
                Figure(
                    {"dices.answers": "of ratings", "dices.majority": "most common answer of a conversation"},
                    "Answers to Q_overall",
                ),
                Figure(
                    {"dices.said_unsafe": "raters who said unsafe", "dices.gold_agreement": "most raters agree"},
                    "Raters and experts, by the experts' answer (Yes means unsafe)",
                ),
                one("dices.reason"),
            ),
        ),
        OutlineTopic(
            "Who says unsafe",
            (
                Figure(
                    {"dices.raters": "raters", "dices.yes": "said unsafe", "dices.answer_time": "answer time (s)"},
                    "Raters: their number, how often they said unsafe, and their answer times",
                ),
                one("dices.yes_by_degree"),
                one("dices.yes_by_type"),
            ),
        ),
        OutlineTopic(
            "Agreement within and between groups of raters",
            (
                _grasp("dices", "Agreement of groups of raters (GRASP)"),
                one("dices.dsi"),
                _grasp(
                    "dices.kept",
                    "Agreement of groups of raters, without the raters removed in the release",
                    folded=True,
                ),
                one("dices.kept.dsi", folded=True),
            ),
        ),
    ),
    order={
        "column": (
            "Q_overall",
            "Q2_harmful_content_overall",
            "Q3_bias_overall",
            "Q3_unfair_bias_overall",
            "Q4_misinformation_overall",
            "Q6_policy_guidelines_overall",
        )
    },
)
