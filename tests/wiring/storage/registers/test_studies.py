"""A study is registered once, whoever comes first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from sqlalchemy import func, select

from storage import tables
from storage.db.engine import Database
from storage.registers.studies import Studies
from tests.fakes.sessions import study

WORKERS = 8


def test_workers_that_start_together_register_a_study_once(each_database: Database) -> None:
    start = Barrier(WORKERS)

    def register(_: int) -> None:
        start.wait()
        Studies(each_database).register(study("demo"))

    with ThreadPoolExecutor(WORKERS) as workers:
        list(workers.map(register, range(WORKERS)))
    with each_database.connect() as connection:
        assert connection.execute(select(func.count()).select_from(tables.studies)).scalar() == 1
