"""What the tests of released files share: a database with simulated sessions of the studies that come with Parley."""

import asyncio

import pytest

from storage.engine import Database, open_database
from tests.fakes.databases import SESSIONS, fill


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """A database with simulated sessions of three studies that come with Parley; nobody changes it."""
    database = open_database(f"sqlite:///{tmp_path_factory.mktemp('filled') / 'parley.db'}")
    asyncio.run(fill(database, ["chatbench", "mathconverse", "demo"], SESSIONS, "1"))
    return database
