"""Claims between processes over one database, each played by an engine of its own: one has what is claimed, and with
its process, or over PostgreSQL its connection, however that ends, it is free again."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from storage.db.advisory_locks import AdvisoryLocks, PostgresLocks, claims_of
from storage.db.engine import Database, open_database, writer
from storage.errors import StorageError
from tests.fakes.forked import Forked
from tests.fakes.postgres import fresh
from tests.wiring.reading import query

SOON_S = 60
NAMES = ("s", "talk"), ("s", "talk", "a"), ("st", "alk")
"""What three things are called; a claim is on all of a name, wherever it is parted."""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('claims')}/parley.db"
    return fresh(request.getfixturevalue("postgres_server"), f"parley_{uuid4().hex}")


@pytest.fixture(scope="module")
def processes(url: str) -> Iterator[list[Process]]:
    with ExitStack() as stack:
        yield [stack.enter_context(process(url)) for _ in range(3)]


class Process:
    """Who claims, and who can lose its connection."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.claims = self.begin()
        self.has: set[tuple[str, ...]] = set()

    def begin(self) -> AdvisoryLocks:
        made = claims_of(self.database, shared=True)
        assert made is not None
        return made

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
        if not isinstance(self.claims, PostgresLocks):
            return self.restart()
        if (pid := self._pid()) is not None:
            self._see_it_end(pid)
            with pytest.raises(StorageError, match="does not respond"):
                self.claims.acquire("anything").result(SOON_S)
        self.has.clear()

    def restart(self) -> None:
        pid = self._pid()
        self.claims.close()
        if pid is not None:
            self._see_it_end(pid)
        self.claims = self.begin()
        self.has.clear()

    def _pid(self) -> int | None:
        """The number of its connection's process: whose locks become more when it claims something."""
        if not isinstance(self.claims, PostgresLocks):
            return None
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


def test_over_an_sqlite_file_that_nobody_shares_there_is_nobody_to_ask(database: Database) -> None:
    assert claims_of(database, shared=False) is None


def test_a_claim_over_sqlite_leaves_no_file_behind(tmp_path: Path, database: Database) -> None:
    claims = claims_of(database, shared=True)
    assert claims is not None
    for number in range(5):
        assert claims.acquire("s", f"{number}").result(SOON_S)
        claims.release("s", f"{number}")
    assert [*(tmp_path / "parley.db-claims").iterdir()] == []


def test_with_its_process_a_claim_over_sqlite_ends(tmp_path: Path, database: Database) -> None:
    holder = Forked(hold_a_claim, str(database.url), folder=tmp_path, out=tmp_path / "said.txt")
    while not (tmp_path / "held").exists():
        time.sleep(0.01)
    claims = claims_of(database, shared=True)
    assert claims is not None
    assert not claims.acquire("it").result(SOON_S)
    holder.kill()
    assert claims.acquire("it").result(SOON_S)
    claims.close()


def hold_a_claim(url: str) -> None:
    claims = claims_of(open_database(url), shared=True)
    assert claims is not None
    assert claims.acquire("it").result(SOON_S)
    Path("held").touch()
    signal.pause()


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
