"""A study under way: its sessions, their balance, and the state of its models.

Everything comes from tables that sum up or have a row a session (`seat`, `model_usage`), and of facts and attempts only
from the last few, so nothing here grows with the number of facts. However many look, a study is asked once a while.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

from experiments.events import Event
from experiments.session.study_status import StudyStatus
from experiments.study.cells import CellStatus, cell_statuses, wanted_overall
from experiments.study.study import Study
from experiments.views.funnel import Funnel, funnel
from storage.db.engine import Database
from storage.log.seats import SessionCounts, counted, query_params
from storage.registers.origins import QUOTAS_APPLY
from storage.registers.reminders import ReminderCounts, reminder_counts
from storage.registers.study_status import operations_in
from storage.reports.attrition import WaveMonitor, wave_monitor
from storage.reports.monitoring.fidelity import FidelityMonitor, SessionCache, fidelity_monitor
from storage.reports.monitoring.models import Latency, ModelCallSummary, recent, spent, used
from storage.reports.monitoring.sessions import (
    FlagCounts,
    HourCount,
    Spent,
    StepTime,
    StuckSession,
    flag_counts,
    help_requests,
    median_minutes,
    over_time,
    session_groups,
    stuck_sessions,
    tally,
    typical,
)

__all__ = [
    "FlagCounts",
    "HourCount",
    "Latency",
    "ModelCallSummary",
    "StepTime",
    "StuckSession",
    "StudyMonitor",
    "StudyMonitors",
    "load_monitor",
]
FRESH_US = 2_000_000
# How old the chart over time may be: its stretches are longer than that, and counting anew is half of a look.
CHART_US = 30_000_000
# The same of what models are like and of waves, which a few sessions more hardly change.
FIDELITY_US = 60_000_000


@dataclass(slots=True)
class MonitorCache:
    spent: Spent = field(default_factory=dict)
    over_time: tuple[HourCount, ...] = ()
    median_minutes: float | None = None
    counted_us: int = -CHART_US
    sessions: SessionCache = field(default_factory=dict)
    fidelity: FidelityMonitor = field(default_factory=FidelityMonitor)
    waves: WaveMonitor | None = None
    reminders: ReminderCounts | None = None
    watched_us: int = -FIDELITY_US


@dataclass(frozen=True, slots=True)
class StudyMonitor:
    study: str
    origin: str
    now_us: int
    operations: StudyStatus
    tally: SessionCounts
    wanted: int | None
    """The number of completed sessions that is wanted; None without a quota."""
    cells: tuple[CellStatus, ...]
    funnel: Funnel
    waiting: tuple[StuckSession, ...]
    """The running sessions idle for the longest, longest first."""
    help: Mapping[int, Event]
    odd: FlagCounts
    times: Mapping[str, StepTime]
    over_time: tuple[HourCount, ...]
    median_minutes: float | None
    """Of the completed sessions, from their start to their end; None if there are none."""
    models: tuple[ModelCallSummary, ...]
    latency: Mapping[str, Latency]
    spent: float
    """The money spent of the study's budget, in sessions of all origins to which it applies."""
    fidelity: FidelityMonitor
    reminders: ReminderCounts | None
    """None in a study without reminders."""
    waves: WaveMonitor | None
    """None in a study without waves."""

    @property
    def arrived(self) -> int:
        return sum(self.tally.outcomes.values())

    @property
    def cost(self) -> float:
        return sum(model.cost for model in self.models)


def load_monitor(
    database: Database, study: Study, origin: str, now_us: int, cache: MonitorCache | None = None
) -> StudyMonitor:
    """`cache` keeps what the next call can use."""
    cache = cache or MonitorCache()
    known = query_params(study.name, origin, now_us, study.file.session_limits.hold_place_s)
    if study.waves and abs(now_us - cache.watched_us) >= FIDELITY_US:
        cache.waves = wave_monitor(database, study, origin, now_us)
    with database.connect() as connection:
        operations = operations_in(connection, study.name)
        quotas = operations.quotas_of(study.file.quotas) if origin in QUOTAS_APPLY else ()
        found = session_groups(connection, known)
        now = tally(found)
        if not cache.over_time or abs(now_us - cache.counted_us) >= CHART_US:
            cache.over_time, cache.counted_us = over_time(connection, known), now_us
            cache.median_minutes = median_minutes(connection, known)
        if abs(now_us - cache.watched_us) >= FIDELITY_US:
            cache.reminders = reminder_counts(database, study.name, origin, now_us)
            cache.fidelity, cache.watched_us = fidelity_monitor(connection, known, cache.sessions), now_us
        return StudyMonitor(
            study=study.name,
            origin=origin,
            now_us=now_us,
            operations=operations,
            tally=now,
            wanted=wanted_overall(quotas),
            cells=cell_statuses(counted(study, now), quotas),
            funnel=funnel(study, (crowd.group for crowd in found)),
            waiting=stuck_sessions(connection, known),
            help=help_requests(connection, known),
            odd=flag_counts(found),
            times=typical(connection, known, cache.spent),
            over_time=cache.over_time,
            median_minutes=cache.median_minutes,
            models=used(connection, study.name, origin),
            latency=recent(connection, study.name, origin),
            spent=spent(connection, study.name),
            fidelity=cache.fidelity,
            reminders=cache.reminders,
            waves=cache.waves,
        )


class StudyMonitors:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._asking: dict[tuple[str, str], Lock] = {}
        self._known: dict[tuple[str, str], StudyMonitor] = {}
        self._kept: defaultdict[tuple[str, str], MonitorCache] = defaultdict(MonitorCache)

    def load(self, study: Study, origin: str, now_us: int) -> StudyMonitor:
        """A study's figures, as of two seconds ago at most; concurrent callers share one query."""
        key = (study.name, origin)
        with self._lock:
            asking = self._asking.setdefault(key, Lock())
        with asking:
            known = self._known.get(key)
            if known is None or abs(now_us - known.now_us) >= FRESH_US:
                known = self._known[key] = load_monitor(self._database, study, origin, now_us, self._kept[key])
            return known
