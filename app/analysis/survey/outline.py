"""The presentation of surveys: every question, in the order of the study. None of them is a main result by itself."""

from app.analysis.outline import Outline

OUTLINE = Outline(contrasts=(), topics=(), rest="Questions")
