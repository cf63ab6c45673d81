"""The presentation of the arena's findings."""

from app.analysis.outline import Contrast, Line, Outline, OutlineTopic, one

OUTLINE = Outline(
    contrasts=(
        Contrast(
            "Which model is preferred",
            (
                (
                    Line("arena.win_rate.<model>"),
                    Line("arena.pairwise.<model>.<other>", "Share of votes between two models, ties counting half"),
                ),
                (Line("arena.ties.<kind>"),),
            ),
        ),
    ),
    topics=(
        OutlineTopic(
            "Which model is preferred",
            (
                one("arena.win_rate"),
                one("arena.ties"),
                one("arena.pairwise"),
                one("arena.bradley_terry"),
                one("arena.elo", folded=True),
                one("arena.position", folded=True),
            ),
        ),
    ),
)
