"""The presentation of the findings about advice and confidence."""

from app.analysis.outline import Contrast, Line, Outline, OutlineTopic, one

OUTLINE = Outline(
    contrasts=(
        Contrast("What people did with advice", ((Line("advice.complementary.all"), Line("advice.weight.all")),)),
        Contrast("How well confidence fits the answers", ((Line("advice.overconfidence.<kind>"),),)),
    ),
    topics=(
        OutlineTopic(
            "Advice",
            (one("advice.complementary"), one("advice.weight"), one("advice.reliance")),
        ),
        OutlineTopic(
            "Confidence",
            (
                one("advice.brier"),
                one("advice.overconfidence"),
                one("advice.calibration"),
            ),
        ),
    ),
    order={"kind": ("alone", "with AI", "change with the AI")},
)
