"""The presentation of the scores of instruments."""

from app.analysis.outline import Contrast, Line, Outline

OUTLINE = Outline(
    contrasts=(
        Contrast(
            "Instruments",
            ((Line("instrument.mean.<instrument>.<score>"), Line("instrument.mean_at.<instrument>.<score>.<place>")),),
        ),
    ),
    topics=(),
    rest="Scores and their reliability",
)
