"""The deployment's secret: it signs cookies, and seals and finds recruiters' ids of people."""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path

from app.clock import SystemClock
from app.config.settings import Settings
from app.errors import SettingsError
from storage.accounts.audit_log import verify_secret
from storage.db.database_url import sqlite_path
from storage.db.engine import Database
from storage.db.private_files import create, unwritable


def load_secret(settings: Settings) -> str:
    """The key that signs cookies: the setting, or a file beside the SQLite database, made at the first start."""
    found = secret_in_use(settings)
    if found is not None:
        return found
    path = _file(settings)
    if path is None:
        raise SettingsError(
            "PARLEY_SECRET is not set. With PostgreSQL it is required, and the same for every process: 32 characters"
        )
    _write_once(path, secrets.token_urlsafe(32))
    return path.read_text(encoding="ascii").strip()


def secret_in_use(settings: Settings) -> str | None:
    """The secret, if there is one already; nothing is made."""
    if settings.secret is not None:
        return settings.secret.get_secret_value()
    path = _file(settings)
    return path.read_text(encoding="ascii").strip() if path and path.exists() else None


def secret_for(settings: Settings, database: Database) -> str:
    """The deployment's secret, if the database is used with it; raises StorageError for another one."""
    secret = load_secret(settings)
    verify_secret(database, secret, SystemClock().now_us)
    return secret


def _file(settings: Settings) -> Path | None:
    file = sqlite_path(settings.database_url)
    return None if file is None else file.with_suffix(".secret")


def _write_once(path: Path, text: str) -> None:
    """Make a file that is whole or not there, even if other processes make it too or this one is killed."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with create(draft) as file:
            file.write(text.encode())
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        with suppress(OSError):
            draft.unlink()
