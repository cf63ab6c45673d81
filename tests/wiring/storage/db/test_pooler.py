"""Poolers before PostgreSQL that share sessions are refused before anything is written; PgBouncer does likewise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import inspect, text

from app.use_cases.doctor import Deployment, check_database
from storage.db.engine import connect, open_database
from storage.errors import StorageError
from storage.migrations.migrate import migrate, migration_status
from tests.fakes.pooler import pooled
from tests.fakes.postgres import fresh
from tests.fakes.served import settings_for

pytestmark = pytest.mark.nightly


def doctor(url: str) -> object:
    return list(check_database(Deployment(settings_for(Path(), database_url=url, secret="x" * 40))))


def migration(url: str) -> object:
    return migrate(url, Path)


@pytest.mark.parametrize(("sessions", "in_turn"), [(1, False), (2, True), (3, True), (4, False)])
def test_a_pooler_that_shares_sessions_is_refused(postgres_server: str, sessions: int, in_turn: bool) -> None:
    ways: tuple[Callable[[str], object], ...] = (open_database, migration_status, migration, doctor)
    direct = fresh(postgres_server, f"parley_{uuid4().hex}")
    with pooled(direct, sessions, in_turn=in_turn) as url:
        engine = connect(url)
        with engine.connect() as connection:
            assert connection.execute(text("SELECT 1")).scalar() == 1, "by itself it works"
        engine.dispose()
        for way in ways:
            with pytest.raises(StorageError, match="pool_mode = session"):
                way(url)
    engine = connect(direct)
    with engine.connect() as connection:
        assert inspect(connection).get_table_names() == []
    engine.dispose()
    open_database(direct).dispose()
