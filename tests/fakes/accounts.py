"""Accounts for tests: with passwords that are kept cheaply, by a clock that moves when a test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from argon2 import PasswordHasher
from sqlalchemy import select

from app.clock import VirtualClock
from storage import tables
from storage.accounts.accounts import Accounts
from storage.accounts.roles import TERMINAL
from storage.db.engine import Database, open_database

CHEAP = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
GOOD = "wandering teapot moss seven"
BETTER = "a lighthouse of borrowed spoons"
NOW_US = 1_790_000_000_000_000


HOME = "192.0.2.1"


def cheap_accounts(database: Database, clock_us: Callable[[], int]) -> Accounts:
    return Accounts(database, clock_us, hasher=CHEAP)


@dataclass(frozen=True)
class Place:
    """A database with accounts, and the clock that they go by."""

    database: Database
    clock: VirtualClock
    accounts: Accounts

    def rows(self, table: str) -> list[dict[str, Any]]:
        with self.database.connect() as connection:
            return [dict(row._mapping) for row in connection.execute(select(tables.metadata.tables[table]))]


@contextmanager
def a_place(url: str) -> Iterator[Place]:
    database, clock = open_database(url), VirtualClock(NOW_US)
    yield Place(database, clock, cheap_accounts(database, clock.now_us))
    database.dispose()


@contextmanager
def ada_and_bob(url: str) -> Iterator[Place]:
    with a_place(url) as place:
        place.accounts.add("Ada", GOOD, "owner", TERMINAL)
        place.accounts.add("bob", BETTER, "analyst", "ada")
        yield place
