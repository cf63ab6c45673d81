"""The URL of a database: parsed, checked, and printed without its password."""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from storage.errors import StorageError

_DRIVERS = ("sqlite", "sqlite+pysqlite", "postgresql+psycopg")
_EXAMPLES = "Use sqlite:///parley.db or postgresql+psycopg://user:password@host/name"
# Schemes of PostgreSQL's own tools, which name no driver.
_DRIVERLESS = ("postgres", "postgresql")
_ENCODE = (
    "in a user's name and a password, write @ as %40, : as %3A, / as %2F, ? as %3F and % as %25. To encode a text: "
    'python3 -c "import urllib.parse as u; print(u.quote(input(), safe=str()))"'
)
_PASSWORD = re.compile(r"(?<=://)([^:/]*):.*@|(?<=password=)[^&]*", re.DOTALL)
# Where a port stands and is none: it may be a password whose host is missing.
_NO_PORT = re.compile(r"(?<=://)([^:/?#@\[]*):(?!\d+(?:[/?#]|$))[^/?#@]+(?=[/?#]|$)")
_QUERY = re.compile(r"(?<=[?#]).+", re.DOTALL)


def parse_database_url(url: str) -> URL:
    """The parsed URL; raises StorageError if it is none, or names no database that keeps its data."""
    if url.startswith("postgres") and _cuts_password(url):
        raise _error(url, _ENCODE)
    try:
        address = make_url(url)
    except (ArgumentError, ValueError) as error:
        known = isinstance(error, ArgumentError)
        raise _error(url, "it cannot be parsed" if known else "its port is not a number") from None
    if address.drivername in _DRIVERLESS:
        address = address.set(drivername="postgresql+psycopg")
    if address.drivername not in _DRIVERS:
        raise _error(url, "allowed: sqlite, or postgresql with psycopg")
    if address.get_backend_name() == "sqlite" and address.database in (None, "", ":memory:"):
        raise _error(url, "it has no file, and a database in memory would be lost")
    return address


def _cuts_password(url: str) -> bool:
    """True if the password would end too early, at an @ of its own: there is another @ behind it, before a query."""
    login = url.partition("://")[2].partition(":")[2]
    later, _, query = login.partition("@")[2].partition("?")
    return "@" in later or ("/" not in later and "@" in query)


def redact_password(url: str) -> str:
    """The URL without its password, however faulty; if no database's, without query and fragment, which hold keys."""
    shown = url if url.startswith(("sqlite", "postgres")) else _QUERY.sub("***", url)
    shown = _PASSWORD.sub(lambda found: f"{found[1]}:***@" if found[1] is not None else "***", shown)
    return _NO_PORT.sub(r"\1:***", shown)


def sqlite_path(url: str) -> Path | None:
    address = parse_database_url(url)
    return Path(str(address.database)) if address.get_backend_name() == "sqlite" else None


def _error(url: str, why: str) -> StorageError:
    return StorageError(
        f"PARLEY_DATABASE_URL={redact_password(url)!r} is not the URL of a database: {why}. {_EXAMPLES}"
    )
