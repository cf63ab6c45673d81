"""Errors in `reminders`: a study without waves, times that never come, and names that no text can have."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.errors import ValidationIssue
from experiments.study.sections.reminders import BEFORE, PLACEHOLDERS
from experiments.study.study import Study
from experiments.study.texts import undefined


def reminder_faults(study: Study) -> Iterator[ValidationIssue]:
    reminders = study.file.reminders
    if reminders is None:
        return
    if len(study.waves) < 2:
        yield ValidationIssue("reminders", "needs `waves`: a reminder is about a wave after the first", absent=True)
    for key in ("channels", "send"):
        if not getattr(reminders, key):
            yield ValidationIssue(f"reminders.{key}", "needs at least one", absent=True)
    whens = [one.when for one in reminders.send]
    for number, one in enumerate(reminders.send):
        at = f"reminders.send[{number}]"
        if one.when in whens[:number]:
            yield ValidationIssue(f"{at}.when", f"{one.when!r} is the time of an earlier one; keep one of them")
        if one.when.endswith(BEFORE) and study.waves[1:] and not any(wave.open_for for wave in study.waves[1:]):
            yield ValidationIssue(f"{at}.when", "never comes: no wave after the first has `open_for`", absent=True)
        yield from (*_text(study, one.subject, f"{at}.subject"), *_text(study, one.text, f"{at}.text"))


def _text(study: Study, text: str, at: str) -> Iterator[ValidationIssue]:
    """Errors of a text and of its translations."""
    for said, language in {study.translate(text, tag): tag for tag in ("", *study.file.offered)}.items():
        where = at if said == text else f"translations.{language}"
        yield from (ValidationIssue(where, fault) for fault in undefined(said, PLACEHOLDERS))
        if not said.strip():
            yield ValidationIssue(where, "is blank, and participants need to read it; write a text")
