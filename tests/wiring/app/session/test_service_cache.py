"""Processes over one database: no late reading hides what was written since, and all have one secret."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from app.clock import SystemClock
from app.config.secret import load_secret, secret_for
from app.session.service import SessionService
from app.studies.loader import load_study
from app.web.console.server import build_console
from app.web.server import build_app
from experiments.events import Event
from storage.accounts.accounts import Accounts
from storage.accounts.audit_log import WHAT
from storage.db.engine import Database, open_database
from storage.errors import StorageError
from storage.log.event_log import Log
from tests.fakes import studies
from tests.fakes.commanding import parley
from tests.fakes.served import SECRET, settings_for

pytestmark = pytest.mark.anyio


class SlowOnce(Log):
    """A log whose first reading takes until it is let go."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.read, self.go = threading.Event(), threading.Event()
        self.go_on = False

    def load(self, stream: str) -> tuple[Event, ...]:
        events = super().load(stream)
        if not self.go_on:
            self.go_on = True
            self.read.set()
            self.go.wait(60)
        return events


async def test_a_late_reading_does_not_bring_back_the_past(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    database = open_database(settings.database_url)
    study = load_study(str(studies.short(tmp_path)))
    first, second = (SessionService(database, settings, SystemClock()) for _ in range(2))
    first.studies.register(study)
    begun = await first.enrol(study, origin="person")
    second.log.close()
    second.log = log = SlowOnce(database)

    late = asyncio.create_task(second.get(begun.stream))
    await asyncio.to_thread(log.read.wait, 60)
    seen = begun.screen.seen
    acted = await second.participant(begun.stream, "submit", "consent", {"agreed": "on"}, seen=seen, key="consented")
    log.go.set()
    for found in (await late, await second.get(begun.stream)):
        assert found is not None
        assert found.screen == acted.screen
    for runtime in (first, second):
        await runtime.close()
    database.dispose()


async def test_processes_that_start_together_agree_on_the_secret(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, secret=None)
    found = await asyncio.gather(*(asyncio.to_thread(load_secret, settings) for _ in range(20)))
    assert len(set(found)) == 1
    assert len(found[0]) >= 32
    (file,) = tmp_path.glob("*secret*")
    assert file.stat().st_mode & 0o777 == 0o600


OTHER = "another-secret-of-32-characters-or-more"
REFUSED = "not the one that this database was used with"


def test_a_database_knows_its_secret(each_database: Database, tmp_path: Path) -> None:
    own, other = settings_for(tmp_path), settings_for(tmp_path, secret=OTHER)
    assert secret_for(own, each_database) == SECRET
    for start in (build_app, build_console):
        with pytest.raises(StorageError, match=REFUSED):
            start(other, each_database)
    assert secret_for(own, each_database) == SECRET, "the one from before is still its own"
    deeds = Accounts(each_database, SystemClock().now_us).audit_log.read()
    assert [deed.what for deed in deeds] == [WHAT]
    assert SECRET not in repr(deeds)


def test_where_it_is_lost_another_is_taken_by_hand(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, secret=None)
    file = tmp_path / "parley.secret"
    database = open_database(settings.database_url)
    before = secret_for(settings, database)
    file.unlink()
    with pytest.raises(StorageError, match=f"{REFUSED}.*parley db accept-secret"):
        secret_for(settings, database)
    refused = parley("recruit", "links", "demo", folder=tmp_path)
    assert refused.returncode == 2
    assert "present secret" in parley("db", "accept-secret", folder=tmp_path).stdout
    assert secret_for(settings, database) == load_secret(settings) != before
    database.dispose()
