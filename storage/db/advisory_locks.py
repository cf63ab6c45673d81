"""Claims: what one process does and no other does meanwhile, of all that serve one PostgreSQL; such as asking a model.

A claim is an advisory lock, held by a connection of the process's own, and ends with the process, however that ends. A
PostgreSQL that was restarted knows of no claim: then two may have the same one, never nobody. An SQLite file has one
server (`file_lock.py`), which claims nothing.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from sqlalchemy import BigInteger, Connection, Engine, func, literal, select
from sqlalchemy.sql.functions import Function

from storage.errors import StorageError

# What PostgreSQL sees by that a machine is gone, power or cable and all, and with it the claims of its processes: in 11
# seconds. By itself it would take two hours.
KEEPALIVES = {"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3"}


class AdvisoryLocks:
    """This process's locks, by names; the connection opens with the first claim, and anew if it is lost."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None
        self._thread = ThreadPoolExecutor(1, "parley-claims")  # a connection serves one at a time

    def acquire(self, *names: str) -> Future[bool]:
        """Claim what has these names; whether it is given. StorageError if the database does not answer."""
        return self._thread.submit(self._ask, func.pg_try_advisory_lock(_number(names)))

    def release(self, *names: str) -> None:
        """Release a lock, without waiting for it. If the connection is lost, so is the lock."""
        self._thread.submit(self._ask, func.pg_advisory_unlock(_number(names)))

    def close(self) -> None:
        self._thread.submit(self._forget)
        self._thread.shutdown()

    def _ask(self, lock: Function[Any]) -> bool:
        try:
            connection = self._connection or self._open()
            return bool(connection.execute(select(lock)).scalar())
        except StorageError:
            self._forget()
            raise

    def _open(self) -> Connection:
        self._connection = connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()  # or the pool would give it to somebody else, claims and all
        for name, value in KEEPALIVES.items():
            connection.execute(select(func.set_config(name, value, False)))
        return connection

    def _forget(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(StorageError):
                connection.close()


def _number(names: tuple[str, ...]) -> Any:
    return literal(int.from_bytes(_digest(names), signed=True), BigInteger)


def _digest(names: tuple[str, ...]) -> bytes:
    """64 bits of a hash, so that no two things share it."""
    return blake2b("\0".join(names).encode(), digest_size=8).digest()
