"""The results of model tests: models whose replies begin with reasoning without an opening mark, by server address."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import select

from storage import tables
from storage.db.engine import Database, writer
from storage.db.upsert import upsert

_columns = tables.model_reasoning.c


def known_reasoning(database: Database) -> Mapping[tuple[str, str], bool]:
    """By a server's address and a model's name there."""
    with database.connect() as connection:
        rows = connection.execute(select(_columns.url, _columns.model, _columns.unopened)).all()
    return {(url, model): unopened for url, model, unopened in rows}


def save_reasoning(database: Database, url: str, model: str, *, unopened: bool, at_us: int) -> None:
    row = {"url": url, "model": model, "unopened": unopened, "at_us": at_us}
    with writer(database) as connection, connection.begin():
        upsert(connection, tables.model_reasoning, [row], ["url", "model"])
