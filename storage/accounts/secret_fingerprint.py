"""Which secret a database is used with. Another one would let nobody go on who has begun, and read no recruiter's id,
and nothing would say so; so the deeds tell by a fingerprint which one it is."""

from __future__ import annotations

import hmac
from collections.abc import Callable

from sqlalchemy import select

from storage import tables
from storage.accounts.audit_log import AuditLog
from storage.db.engine import Database
from storage.errors import StorageError

WHO, WHAT = "parley", "recorded the secret's fingerprint"
_deed = tables.deeds.c


def verify_secret(database: Database, secret: str, clock_us: Callable[[], int]) -> None:
    """Take the secret that a database is used with for the first time; raises StorageError for any other than that."""
    if not refuse_other_secret(database, secret):
        adopt_secret(database, secret, clock_us)


def refuse_other_secret(database: Database, secret: str) -> bool:
    """Whether a database is used with this secret; False if it was used with none yet. Raises StorageError if it is
    used with another."""
    wanted = select(_deed.about).where(_deed.who == WHO, _deed.what == WHAT).order_by(_deed.id.desc()).limit(1)
    with database.connect() as connection:
        known = connection.execute(wanted).scalar()
    if known is not None and known != _fingerprint(secret):
        raise StorageError(
            "the secret (PARLEY_SECRET, or the file beside an SQLite database) is not the one that this database was "
            "used with. With another secret no running session can continue and no recruiter's ID can be read. Set "
            "the earlier secret, the same for all processes. If it is lost: parley db accept-secret"
        )
    return known is not None


def adopt_secret(database: Database, secret: str, clock_us: Callable[[], int]) -> None:
    """From now on a database is used with this secret."""
    AuditLog(database, clock_us).record(WHO, WHAT, _fingerprint(secret))


def _fingerprint(secret: str) -> str:
    return hmac.digest(secret.encode(), b"which secret is this?", "sha256").hex()[:16]
