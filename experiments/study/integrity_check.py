"""Errors of a study's integrity checks: they must be disclosed, and a hidden instruction be shown somewhere."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.errors import ValidationIssue
from experiments.study.fields import LongText
from experiments.study.study import Study

AT = "integrity.hidden_instruction"
TELEMETRY = "needs `telemetry: true`: that something was written in the hidden box is a part of it"


def integrity_faults(study: Study) -> Iterator[ValidationIssue]:
    """What keeps a check from being disclosed, or from finding anything."""
    checks = study.file.integrity
    if checks is None:
        return
    steps = [step for _, step in study.steps]
    if not any(step.step == "consent" for step in steps):
        yield ValidationIssue("integrity", "needs a `consent` step: its form discloses what pages hide")
    if checks.honeypot and not study.file.telemetry:
        yield ValidationIssue("integrity.honeypot", TELEMETRY)
    asked = (field for step in steps for field in step.questions_asked())
    if checks.hidden_instruction and not any(isinstance(field, LongText) for field in asked):
        yield ValidationIssue(AT, "needs a question of type `long_text`, beside which it stands")
