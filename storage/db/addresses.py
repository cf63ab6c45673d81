"""Where a database is: its address, read, checked, and told without its password."""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from storage.errors import StorageError

_DRIVERS = ("sqlite", "sqlite+pysqlite", "postgresql+psycopg")
_EXAMPLES = "Use sqlite:///parley.db or postgresql+psycopg://user:password@host/name"
_DRIVERLESS = ("postgres", "postgresql")
"""How PostgreSQL's own tools begin an address."""
_PASSWORD = re.compile(r"(?<=://)([^:/@]*):.*@|(?<=password=)[^&]*", re.DOTALL)


def parsed(url: str) -> URL:
    """The address that is written so; raises StorageError where it is none, or one of nothing that keeps."""
    try:
        address = make_url(url)
    except (ArgumentError, ValueError) as error:
        known = isinstance(error, ArgumentError)
        raise _none(url, "it cannot be parsed" if known else "its port is not a number") from None
    if address.drivername in _DRIVERLESS:
        address = address.set(drivername="postgresql+psycopg")
    if address.drivername not in _DRIVERS:
        raise _none(url, "allowed: sqlite, or postgresql with psycopg")
    if "@" in (address.host or ""):
        raise _none(url, "in a password, write @ as %40, : as %3A and / as %2F")
    if address.get_backend_name() == "sqlite" and address.database in (None, "", ":memory:"):
        raise _none(url, "it has no file, and a database in memory would be lost")
    return address


def without_password(url: str) -> str:
    """The address as it is written, without its password, whatever else is wrong with it."""
    return _PASSWORD.sub(lambda found: f"{found[1]}:***@" if found[1] is not None else "***", url)


def file_of(url: str) -> Path | None:
    """The file of an SQLite database; None for any other."""
    address = parsed(url)
    return Path(str(address.database)) if address.get_backend_name() == "sqlite" else None


def _none(url: str, why: str) -> StorageError:
    return StorageError(
        f"PARLEY_DATABASE_URL={without_password(url)!r} is no address of a database: {why}. {_EXAMPLES}"
    )
