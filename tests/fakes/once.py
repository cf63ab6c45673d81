"""Databases that take seconds to fill are filled once in a run, however many processes its tests are spread over."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from storage.db.engine import Database, open_database

Fill = Callable[[Database], object]


def file_of(factory: pytest.TempPathFactory, name: str, fill: Fill) -> bytes:
    """The file of an SQLite database that `fill` filled, in whichever process was first to want that name."""
    base = factory.getbasetemp()
    file = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"{name}.db"
    with file.with_suffix(".lock").open("w") as lock, TemporaryDirectory(dir=file.parent) as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            database = open_database(f"sqlite:///{folder}/parley.db")
            fill(database)
            database.dispose()
            (Path(folder) / "parley.db").rename(file)
    return file.read_bytes()


def database_of(factory: pytest.TempPathFactory, name: str, fill: Fill) -> Database:
    path = factory.mktemp(name) / "parley.db"
    path.write_bytes(file_of(factory, name, fill))
    return open_database(f"sqlite:///{path}")
