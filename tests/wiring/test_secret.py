"""One secret for a database: another would shut out who has begun, so no process starts with it, and one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.clock import SystemClock
from app.config.secret import load_secret, secret_for
from app.web.console.server import build_console
from app.web.server import build_app
from storage.accounts.accounts import Accounts
from storage.accounts.secret_fingerprint import WHAT
from storage.db.engine import Database, open_database
from storage.errors import StorageError
from tests.fakes.commanding import parley
from tests.fakes.served import SECRET, settings_for

OTHER = "another-secret-of-32-characters-or-more"
REFUSED = "not the one that this database was used with"


def test_a_database_knows_its_secret(each_database: Database, tmp_path: Path) -> None:
    own, other = settings_for(tmp_path), settings_for(tmp_path, secret=OTHER)
    assert secret_for(own, each_database) == SECRET
    for start in (build_app, build_console):
        with pytest.raises(StorageError, match=REFUSED):
            start(other, each_database)
    assert secret_for(own, each_database) == SECRET, "the one from before is still its own"
    deeds = Accounts(each_database, SystemClock().now_us).audit_log()
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
