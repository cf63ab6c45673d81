from __future__ import annotations

import time

from sqlalchemy import QueuePool

from storage.db.engine import Database

MOST_S = 60.0


def let_go(database: Database) -> None:
    """Close its connections, once threads that were reading as their task was cancelled have given theirs back. Fails
    if somebody keeps one."""
    give_up = time.monotonic() + MOST_S
    while isinstance(database.pool, QueuePool) and database.pool.checkedout():
        assert time.monotonic() < give_up, "a connection is not given back: close what has it, such as a writer"
        time.sleep(0.01)
    database.dispose()
