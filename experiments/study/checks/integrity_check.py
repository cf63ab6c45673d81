"""Errors of a study's integrity checks: what pages hide must be disclosed and be found, and thresholds need a
figure."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.errors import ValidationIssue
from experiments.study.fields import LongText
from experiments.study.sections.integrity import IntegrityChecks, IntegrityThresholds
from experiments.study.study import Study

AT = "integrity.hidden_instruction"
FROM_PAGES = ("paste_share", "typing_speed")
TELEMETRY = "needs `telemetry: true`: that something was written in the hidden box is a part of it"


def integrity_faults(study: Study) -> Iterator[ValidationIssue]:
    """What keeps a check from being disclosed, or from finding anything."""
    checks = study.file.integrity
    if checks is None:
        return
    steps = [step for _, step in study.steps]
    if checks.hides and not any(step.step == "consent" for step in steps):
        yield ValidationIssue("integrity", "needs a `consent` step: its form discloses what pages hide")
    if checks.honeypot and not study.file.telemetry:
        yield ValidationIssue("integrity.honeypot", TELEMETRY)
    asked = (field for step in steps for field in step.questions_asked())
    if checks.hidden_instruction and not any(isinstance(field, LongText) for field in asked):
        yield ValidationIssue(AT, "needs a question of type `long_text`, beside which it stands")
    yield from _threshold_faults(study, checks)


def _threshold_faults(study: Study, checks: IntegrityChecks) -> Iterator[ValidationIssue]:
    """Thresholds that differ from Parley's, of indicators that can have no figure in this study."""
    changed = checks.thresholds or IntegrityThresholds()
    usual = IntegrityThresholds()
    for name in FROM_PAGES:
        if getattr(changed, name) != getattr(usual, name) and not study.file.telemetry:
            yield ValidationIssue(f"integrity.thresholds.{name}", "needs `telemetry: true`: pages report it")
    if changed.honeypot != usual.honeypot and not checks.honeypot:
        yield ValidationIssue("integrity.thresholds.honeypot", "needs `honeypot: true` beside `thresholds`")
