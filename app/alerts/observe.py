"""What the conditions are decided by, read from the database and the disks."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from app.alerts.conditions import (
    FAILURE_WINDOW_S,
    LOST_WINDOW_S,
    BudgetLevel,
    Disk,
    InactiveSession,
    LostIds,
    ModelCalls,
    Observations,
    Thresholds,
)
from app.config.settings import Settings
from experiments.session.study_status import StudyStatus
from experiments.study.study import Study
from problems.errors import ParleyError
from storage.db.database_url import sqlite_path
from storage.db.engine import Database
from storage.log.quota import is_full
from storage.log.seats import cell_key, query_params
from storage.registers.link_problems import recent_link_problems
from storage.registers.studies import Studies
from storage.registers.study_status import every_operations_in
from storage.reports.costs import spending
from storage.reports.monitoring.models import calls_since
from storage.reports.monitoring.sessions import people_started, stuck_sessions, studies_in_progress
from storage.reports.monitoring.step_times import Spent, typical

LONGEST_S = 7 * 86_400
"""Sessions without activity for longer than this are not looked at, whatever their study says."""


def thresholds_of(settings: Settings) -> Thresholds:
    """The thresholds that a deployment has set."""
    return Thresholds(
        model_failures=settings.alert_model_failures,
        stuck_s=60 * settings.alert_stuck_minutes,
        budget_share=settings.alert_budget_percent / 100,
        link_problems=settings.alert_link_problems,
        disk_free_bytes=1e9 * settings.alert_disk_free_gb,
    )


class Observer:
    """Observes a database and its disks. It remembers the step times of ended sessions, which do not change."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._database = database
        self._studies = Studies(database)
        file = sqlite_path(settings.database_url)
        self._folders = [*([file.resolve().parent] if file is not None else []), settings.studies_dir.resolve()]
        self._spent: dict[tuple[str, str], Spent] = {}

    def observe(self, now_us: int) -> Observations:
        """What is to be seen now; raises StorageError if the database cannot be read."""
        with self._database.connect() as connection:
            calls = calls_since(connection, now_us - FAILURE_WINDOW_S * 1_000_000)
            running = studies_in_progress(connection, now_us - LONGEST_S * 1_000_000)
            names = self._studies.names()
            statuses = every_operations_in(connection, names)
            problems = recent_link_problems(connection, now_us - LOST_WINDOW_S * 1_000_000)
            lost = tuple(
                LostIds(name, *problems[name], people_started(connection, name))
                for name in _accepting(statuses)
                if name in problems
            )
        open_ = [(study, statuses[study.name]) for study in self._load(_accepting(statuses))]
        return Observations(
            models=tuple(_model_calls(*key, reasons) for key, reasons in calls.items()),
            inactive=tuple(one for study, origin in running for one in self._inactive(study, origin, now_us)),
            budgets=tuple(level for study, status in open_ for level in self._budgets(study, status, now_us)),
            lost=lost,
            full=tuple(study.name for study, status in open_ if self._is_full(study, status, now_us)),
            disks=tuple(disks(self._folders)),
        )

    def _load(self, names: Iterable[str]) -> Iterator[Study]:
        """The studies of these names that this Parley can read."""
        for name in names:
            try:
                yield self._studies.newest(name)
            except ParleyError:  # only imported, or of an older Parley
                continue

    def _inactive(self, name: str, origin: str, now_us: int) -> Iterator[InactiveSession]:
        for study in self._load([name]):
            known = query_params(name, origin, now_us, study.file.session_limits.hold_place_s)
            with self._database.connect() as connection:
                found = stuck_sessions(connection, known, placed=True)
                usual = typical(connection, known, self._spent.setdefault((name, origin), {})) if found else {}
            for one in found:
                time = usual.get(one.place)
                inactive_s = (now_us - one.since_us) / 1e6
                yield InactiveSession(name, origin, one.ordinal, inactive_s, time.seconds if time else None)

    def _budgets(self, study: Study, status: StudyStatus, now_us: int) -> Iterator[BudgetLevel]:
        for where, budget in status.budgets.items():
            committed = spending(self._database, study, where, now_us).bound
            yield BudgetLevel(study.name, cell_key(dict(where)), budget, committed, study.file.currency)

    def _is_full(self, study: Study, status: StudyStatus, now_us: int) -> bool:
        return not status.pilot and is_full(self._database, study, status.quotas_of(study.file.quotas), now_us)


def _accepting(statuses: dict[str, StudyStatus]) -> list[str]:
    """The studies that participants can start, as far as researchers decide that."""
    return [name for name, status in statuses.items() if status.published and status.state in ("open", "pilot")]


def _model_calls(study: str, origin: str, model: str, reasons: dict[str | None, int]) -> ModelCalls:
    failed = {reason: number for reason, number in reasons.items() if reason is not None}
    return ModelCalls(study, origin, model, sum(reasons.values()), failed)


def disks(folders: Iterable[Path]) -> Iterator[Disk]:
    """Each disk once, by the first of the folders that it has."""
    seen = set()
    for folder in folders:
        there = next(path for path in (folder, *folder.parents) if path.exists())
        if (device := there.stat().st_dev) not in seen:
            seen.add(device)
            used = shutil.disk_usage(there)
            yield Disk(str(there), used.free, used.total)
