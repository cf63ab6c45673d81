"""Look at outcomes: those of a preregistered trial are locked until its end, and each look before is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from app.extensions.trials.reads.plan_events import (
    PlanEvents,
    RecordedLook,
    complete_people,
    plan_events,
    plan_in_force,
    record_look,
)
from experiments.study.sections.plan import Plan
from experiments.study.study import Study
from storage.accounts.roles import TERMINAL
from storage.db.engine import Database
from storage.registers.origins import Origin
from storage.registers.studies import Studies
from storage.registers.study_status import operations_of

DAY_US = 86_400_000_000
# How the way of a look ends that only opens again what an earlier one shows.
AGAIN = ", again"


@dataclass(frozen=True, slots=True)
class PlannedLook:
    number: int
    needs: int


@dataclass(frozen=True, slots=True)
class OutcomeLock:
    """Outcomes of a trial under way, with complete and planned sessions, and the next look but for the last."""

    complete: int
    planned: int | None
    next: PlannedLook | None


def outcome_lock(database: Database, study: str) -> OutcomeLock | None:
    """The lock; None if the study is not preregistered, or is over: closed, or with all its participants."""
    recorded = plan_events(database, study)
    planned = planned_study(database, study, recorded)
    if planned is None or operations_of(database, study).closed is not None:
        return None
    plan = planned.file.plan
    complete = complete_people(database, study)
    if plan is None or (plan.participants is not None and complete >= plan.participants):
        return None
    return OutcomeLock(complete, plan.participants, next_look(plan, recorded.looks))


def look_is_due(database: Database, study: str) -> bool:
    lock = outcome_lock(database, study)
    return lock is not None and lock.next is not None and lock.complete >= lock.next.needs


def next_look(plan: Plan, looks: Sequence[RecordedLook]) -> PlannedLook | None:
    """The next planned look; None if there is none but the analysis at the end."""
    if plan.looks is None or plan.participants is None:
        return None
    taken = sum(look.number is not None for look in looks)
    if plan.looks.spending == "always-valid":
        return PlannedLook(taken + 1, ceil(plan.looks.at[0] * plan.participants))
    if taken >= len(plan.looks.at):
        return None
    return PlannedLook(taken + 1, ceil(plan.looks.at[taken] * plan.participants))


def peek(database: Database, study: str, who: str, through: str, why: str, now_us: int) -> bool:
    """Record an unplanned look at outcomes; returns False if the study's outcomes are not locked."""
    if (lock := outcome_lock(database, study)) is None:
        return False
    record_look(database, study, RecordedLook(now_us, None, who, through, why, lock.complete, {}))
    return True


def open_again(database: Database, study: str, origin: str, who: str, through: str, now_us: int) -> None:
    """Record that outcomes are opened again which an unplanned look of the last day shows; it gives no further day."""
    lock = outcome_lock(database, study) if origin == Origin.PERSON else None
    first = _unplanned(database, study, who, now_us) if lock is not None else None
    if lock is not None and first is not None:
        again = RecordedLook(now_us, None, who, f"{through}{AGAIN}", first.why, lock.complete, {})
        record_look(database, study, again)


def _unplanned(database: Database, study: str, who: str, now_us: int) -> RecordedLook | None:
    """Somebody's last unplanned look within a day; none at a terminal, which may be several people's."""
    if who == TERMINAL:
        return None
    mine = (one for one in reversed(plan_events(database, study).looks) if one.number is None and one.who == who)
    return next((one for one in mine if now_us - one.at_us < DAY_US and not one.through.endswith(AGAIN)), None)


def locked_for(database: Database, study: str, origin: str, who: str, now_us: int) -> str:
    """The reason why outcomes are not shown now; empty if they are, as for a day after an unplanned look."""
    lock = outcome_lock(database, study) if origin == Origin.PERSON else None
    if lock is None:
        return ""
    if _unplanned(database, study, who, now_us) is not None:
        return ""
    wanted = f" of {lock.planned:,}" if lock.planned is not None else ""
    due = ""
    if lock.next is not None and lock.complete >= lock.next.needs:
        due = f" Look {lock.next.number} is due."
    elif lock.next is not None:
        due = f" The next look is planned at {lock.next.needs:,}."
    return (
        f"{study} is preregistered, and its outcomes are not shown before the planned time: {lock.complete:,}{wanted} "
        f"participants have completed.{due} Any other look is recorded, and the report states it."
    )


def planned_study(database: Database, study: str, events: PlanEvents) -> Study | None:
    counts = plan_in_force(database, study, events)
    return None if counts is None else Studies(database).get(counts.hash)
