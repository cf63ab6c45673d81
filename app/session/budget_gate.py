"""Closes a study to new participants when its committed spending reaches its budget.

Committed spending is what replies have cost plus what the sessions in progress are expected to cost still, so
participants who have started can finish within the budget. It is checked at each arrival. The
total is cached for about two seconds; sessions that started since it was read are added (a session may be counted
twice, never missed).
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from app.calls.caller import Budget
from app.clock import Clock
from app.single_flight import SingleFlight
from experiments.session.study_status import EVERYBODY, StudyStatus, Where
from experiments.study.sections.recruitment import Quota
from experiments.study.study import Study
from storage.db.engine import Database
from storage.log.quota import is_full
from storage.registers.study_status import operations_of
from storage.reports.costs import BudgetUse, spending

FRESH_US = 2_000_000
# A total is cached for so many times the duration of its query in addition to FRESH_US, so that queries use at most a
# twentieth of a core. With 400,000 attempts a query takes 0.7 s.
READING_SHARE = 20
BUDGET, FULL = "budget", "full"


@dataclass(frozen=True, slots=True)
class _CachedBudget:
    at_us: int
    until_us: int
    operations: StudyStatus
    spending: Mapping[Where, BudgetUse]
    """The spending of the study and of each cell that has a budget."""
    full: bool

    def used_up(self, started: int) -> tuple[Where, ...]:
        """The budgets that are spent or committed, with `begun` sessions started since they were read."""
        budgets = self.operations.budgets
        return tuple(
            where
            for where, used in self.spending.items()
            if Budget(budgets[where], used.bound, started * (used.each or 0.0)).left <= 0
        )


class BudgetGate:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._cached: dict[str, _CachedBudget] = {}
        self._reading: defaultdict[str, SingleFlight[_CachedBudget]] = defaultdict(SingleFlight)
        self._begun: defaultdict[str, dict[object, float]] = defaultdict(dict)
        """By study: when each new session was written, in microseconds; infinity until it is."""

    async def closed_reason(self, study: Study) -> str | None:
        """The reason why nobody new can start: BUDGET, FULL, or the researcher's; None while they can."""
        cached = self._fresh(study) or await self._reading[study.name].get(partial(self._anew, study))
        used_up = EVERYBODY in self._used_up(study, cached)
        return cached.operations.closed_reason or (BUDGET if used_up else FULL if cached.full else None)

    def closed_cells(self, study: Study) -> tuple[Quota, ...]:
        """The cells whose budget is used up, as quotas of 0; from the cached values, even if they have expired."""
        known = self._cached.get(study.name)
        return tuple(Quota(where=dict(where), max=0) for where in self._used_up(study, known) if where) if known else ()

    def _used_up(self, study: Study, cached: _CachedBudget) -> tuple[Where, ...]:
        return cached.used_up(len(self._begun[study.name]))

    @contextmanager
    def counting_newcomer(self, study: Study) -> Iterator[None]:
        """Count one more new session from now on. The block writes it, or fails to."""
        started, who = self._begun[study.name], object()
        started[who] = math.inf
        try:
            yield
        finally:
            started[who] = self._clock.now_us()

    def _fresh(self, study: Study) -> _CachedBudget | None:
        cached = self._cached.get(study.name)
        return cached if cached and cached.at_us <= self._clock.now_us() < cached.until_us else None

    async def _anew(self, study: Study) -> _CachedBudget:
        cached = self._cached[study.name] = await asyncio.to_thread(self._read, study, self._clock.now_us())
        started = self._begun[study.name]
        for who in [who for who, written_us in started.items() if written_us < cached.at_us]:
            del started[who]
        return cached

    def _read(self, study: Study, now_us: int) -> _CachedBudget:
        begun_s = time.perf_counter()
        operations = operations_of(self._database, study.name)
        found = {where: spending(self._database, study, where, now_us) for where in operations.budgets}
        full = not operations.pilot and is_full(self._database, study, operations.quotas_of(study.file.quotas), now_us)
        took_us = round((time.perf_counter() - begun_s) * 1e6)
        return _CachedBudget(now_us, now_us + FRESH_US + READING_SHARE * took_us, operations, found, full)
