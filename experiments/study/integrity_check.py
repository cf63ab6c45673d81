"""Errors of a study's hidden instruction: it must be disclosed, and be shown somewhere."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.errors import ValidationIssue
from experiments.study.fields import LongText
from experiments.study.study import Study

AT = "integrity.hidden_instruction"


def integrity_faults(study: Study) -> Iterator[ValidationIssue]:
    """What keeps a hidden instruction from being disclosed, or from being on any page."""
    if study.file.integrity is None:
        return
    steps = [step for _, step in study.steps]
    if not any(step.step == "consent" for step in steps):
        yield ValidationIssue(AT, "needs a `consent` step: its form discloses the hidden instruction")
    if not any(isinstance(field, LongText) for step in steps for field in step.questions_asked()):
        yield ValidationIssue(AT, "needs a question of type `long_text`, beside which it stands")
