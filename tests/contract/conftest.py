"""What the tests of released files share: empty databases, and one with sessions of studies that come with Parley."""

import asyncio

import pytest

from storage.db.engine import Database
from tests.fakes.databases import SESSIONS, Mould, fill
from tests.fakes.once import database_of
from tests.fakes.sessions import NAMES


@pytest.fixture(scope="session")
def mould(tmp_path_factory: pytest.TempPathFactory) -> Mould:
    return Mould(tmp_path_factory.mktemp("mould"))


@pytest.fixture
def database(mould: Mould) -> Database:
    return mould.cast()


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """A database with simulated sessions of every study there is; nobody changes it."""
    fill_it = lambda database: asyncio.run(fill(database, list(NAMES), SESSIONS, "1"))  # noqa: E731
    return database_of(tmp_path_factory, "filled", fill_it)
