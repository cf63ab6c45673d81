"""Delete recruiters' ids and data whose period has passed (`keep_ids_for`, `keep_for`): daily, and by command."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from app.session.service import Sessions
from storage.accounts.audit_log import AuditLog
from storage.db.engine import Database
from storage.log.erasure import unlink_identities
from storage.payments.retention import DueSession, RetentionPlan, retention_plans
from storage.registers.participants import Participants

# The actor in the audit log. No account can have this name, as names have no blanks.
SERVER = "the server"
log = logging.getLogger(__name__)


async def carry_out(sessions: Sessions, database: Database, plan: RetentionPlan, who: str) -> None:
    """Delete the data that a plan names, and write it to the audit log."""
    erased = [one for one in plan.data if await sessions.withdraw(one.stream, by="system")]
    await asyncio.to_thread(unlink_identities, database, [one.stream for one in plan.ids])
    audit = AuditLog(database, sessions.now_us)
    for what, done in (("deleted recruiter IDs by age", plan.ids), ("erased sessions by age", erased)):
        if done:
            await asyncio.to_thread(audit.record, who, what, f"{plan.study} No. {numbers(done)}")


def numbers(sessions: Iterable[DueSession]) -> str:
    return ", ".join(str(one.number) for one in sessions)


class RetentionTask:
    """The task of a participants' server that deletes data when they are due."""

    def __init__(self, sessions: Sessions, database: Database, participants: Participants) -> None:
        self._sessions, self._database, self._participants = sessions, database, participants

    async def once(self) -> tuple[RetentionPlan, ...]:
        plans = await asyncio.to_thread(self._plans)
        for plan in plans:
            await self._one(plan)
        return tuple(plans)

    def _plans(self) -> list[RetentionPlan]:
        return [*retention_plans(self._database, self._participants, self._sessions.now_us())]

    async def _one(self, plan: RetentionPlan) -> None:
        await carry_out(self._sessions, self._database, plan, SERVER)
        if plan.ids or plan.data:
            log.info("%s: %d recruiter IDs deleted, %d sessions erased", plan.study, len(plan.ids), len(plan.data))
        if plan.unpaid:
            log.warning(
                "%s: sessions %s are kept beyond their period, as a bonus is not paid yet: parley payments %s",
                *(plan.study, numbers(plan.unpaid), plan.study),
            )
