"""Look at outcomes: an extension may lock those of a study, and records who looks at them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.clock import Clock
from app.errors import TrialError
from app.extension import hooked, missing_owners, refuse_missing
from storage.accounts.audit_log import AuditLog
from storage.db.engine import Database
from storage.registers.studies import Studies


def locked_for(database: Database, study: str, origin: str, who: str, now_us: int) -> str:
    """The reason why outcomes are not shown now; empty if they are."""
    return "".join(locked(database, study, origin, who, now_us) for locked in _locks("locked_for", database, study))


def look_is_due(database: Database, study: str) -> bool:
    return any(due(database, study) for due in _locks("look_is_due", database, study))


def peek(database: Database, study: str, who: str, through: str, why: str, now_us: int) -> bool:
    """Record an unplanned look at outcomes; returns False if the study's outcomes are not locked."""
    return any([record(database, study, who, through, why, now_us) for record in _locks("peek", database, study)])


def look_now(database: Database, study: str, origin: str, who: str, through: str, why: str, clock: Clock) -> None:
    """Record an unplanned look if outcomes are locked. Raises TrialError without a reason."""
    now_us = clock.now_us()
    if locked := locked_for(database, study, origin, who, now_us):
        if not why.strip():
            raise TrialError(f"{locked} To look now, give a reason (`--peek REASON`).")
        peek(database, study, who, through, why.strip(), now_us)
        AuditLog(database, clock.now_us).record(who, "looked at outcomes before the end", study)


def open_again(database: Database, study: str, origin: str, who: str, through: str, now_us: int) -> None:
    """Record that somebody opens outcomes again which an unplanned look of the last day shows them."""
    for record in _locks("open_again", database, study):
        record(database, study, origin, who, through, now_us)


def _locks(hook: str, database: Database, study: str) -> Iterator[Any]:
    """Functions of extensions for a hook. Raises MissingExtension if the one that may have locked the study is gone."""
    studies = Studies(database)
    if missing_owners() and studies.has(study):
        refuse_missing(studies.newest(study))
    return hooked(hook)
