"""Claims between processes over one PostgreSQL, each played by an engine of its own: one has what is claimed, and with
its connection, however that ends, it is free again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from storage.db.advisory_locks import AdvisoryLocks
from storage.db.engine import Database, open_database, writer
from storage.errors import StorageError
from tests.fakes.postgres import fresh
from tests.wiring.reading import query

SOON_S = 60
# What three things are called; a claim is on all of a name, wherever it is parted.
NAMES = ("s", "talk"), ("s", "talk", "a"), ("st", "alk")


@pytest.fixture(scope="module")
def url(request: pytest.FixtureRequest) -> str:
    return fresh(request.getfixturevalue("postgres_server"), f"parley_{uuid4().hex}")


@pytest.fixture(scope="module")
def processes(url: str) -> Iterator[list[Process]]:
    with ExitStack() as stack:
        yield [stack.enter_context(process(url)) for _ in range(3)]


class Process:
    """Who claims, and who can lose its connection."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.claims = AdvisoryLocks(database)
        self.has: set[tuple[str, ...]] = set()

    def take(self, *names: str) -> bool:
        given = self.claims.acquire(*names).result(SOON_S)
        if given:
            self.has.add(names)
        return given

    def leave(self, *names: str) -> None:
        self.claims.release(*names)
        self.has.discard(names)
        self.claims.acquire("all that was asked for is done").result(SOON_S)
        self.claims.release("all that was asked for is done")

    def lose(self) -> None:
        """PostgreSQL ends the connection, as where it is restarted; the next claim finds that out."""
        self._see_it_end(self._pid())
        with pytest.raises(StorageError, match="does not respond"):
            self.claims.acquire("anything").result(SOON_S)
        self.has.clear()

    def restart(self) -> None:
        pid = self._pid()
        self.claims.close()
        self._see_it_end(pid)
        self.claims = AdvisoryLocks(self.database)
        self.has.clear()

    def _pid(self) -> int:
        """The number of its connection's process: whose locks become more when it claims something."""
        self.claims.acquire(uuid4().hex).result(SOON_S)  # what was released before is released by then
        before = self._locks()
        self.claims.acquire(uuid4().hex).result(SOON_S)
        (pid,) = (self._locks() - before).elements()
        return int(pid)

    def _locks(self) -> Counter[int]:
        rows = query(self.database, "SELECT pid FROM pg_locks WHERE locktype = 'advisory'")
        return Counter(pid for (pid,) in rows)

    def _see_it_end(self, pid: int) -> None:
        with writer(self.database) as other, other.begin():
            other.execute(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": pid})


@contextmanager
def process(url: str) -> Iterator[Process]:
    database = open_database(url)
    made = Process(database)
    try:
        yield made
    finally:
        made.claims.close()
        database.dispose()


@settings(max_examples=10)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["take", "leave"]), st.integers(0, 2), st.sampled_from(NAMES)),
            st.tuples(st.sampled_from(["lose", "restart"]), st.integers(0, 2), st.just(())),
        ),
        max_size=25,
    )
)
def test_nobody_has_what_another_has_and_what_nobody_has_is_given(
    processes: list[Process], does: list[tuple[str, int, tuple[str, ...]]]
) -> None:
    for one in processes:
        one.restart()
    for what, who, names in does:
        one = processes[who]
        if what == "take" and names not in one.has:
            free = not any(names in other.has for other in processes)
            assert one.take(*names) == free
        elif what != "take":
            getattr(one, what)(*names)
