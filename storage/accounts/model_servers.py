"""Model servers that owners enter in the console. The key of each is sealed under the deployment's secret.

A key is sealed together with the name and the address of its server, so that neither a changed row nor a row that was
copied to another name makes Parley send it elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import delete, select

from storage import tables
from storage.accounts.audit_log import AuditLog
from storage.db.engine import Database, writer
from storage.db.sealing import seal, unseal
from storage.db.upsert import upsert
from storage.errors import StorageError

_columns, _reasoning = tables.model_servers.c, tables.model_reasoning.c
PURPOSE = "parley model server"


@dataclass(frozen=True, slots=True)
class SavedServer:
    """A server without its key. `kind` is the name of its provider, or `other`."""

    name: str
    kind: str
    url: str
    by: str
    at_us: int
    sealed: bytes = field(repr=False)


def saved_servers(database: Database) -> tuple[SavedServer, ...]:
    query = select(*(_columns[name] for name in ("name", "kind", "url", "by", "at_us", "sealed")))
    with database.connect() as connection:
        return tuple(SavedServer(*row) for row in connection.execute(query.order_by(_columns.name)))


def save_server(database: Database, secret: str, server: SavedServer, key: str, clock_us: Callable[[], int]) -> None:
    """Save a server, with its key if that is not empty, in place of one of the same name; audited."""
    sealed = seal_key(secret, server.name, server.url, key) if key else b""
    row = {"name": server.name, "kind": server.kind, "url": server.url, "by": server.by, "at_us": clock_us()}
    with writer(database) as connection, connection.begin():
        upsert(connection, tables.model_servers, [{**row, "sealed": sealed}], ["name"])
        about = f"{server.name}: {server.url}, {'with' if key else 'without'} a key"
        AuditLog(database, clock_us).forward(connection, server.by, "saved a model server", about)


def remove_server(database: Database, name: str, by: str, clock_us: Callable[[], int]) -> None:
    """Remove a server and its key, audited; raises StorageError if there is none of this name."""
    with writer(database) as connection, connection.begin():
        if not connection.execute(delete(tables.model_servers).where(_columns.name == name)).rowcount:
            raise StorageError(f"there is no saved model server {name!r}; it may have been removed already")
        AuditLog(database, clock_us).forward(connection, by, "removed a model server", name)


def seal_key(secret: str, name: str, url: str, key: str) -> bytes:
    return seal(secret, PURPOSE, [name, url, key])


def open_key(secret: str, server: SavedServer) -> str | None:
    """The key, or None. Raises StorageError if it was sealed under another secret, or for another name or address."""
    if not server.sealed:
        return None
    name, url, key = unseal(secret, PURPOSE, server.sealed) or (None, None, None)
    if key is None or (name, url) != (server.name, server.url):
        raise StorageError(
            f"the key of the model server {server.name!r} cannot be opened with this secret (PARLEY_SECRET, or the "
            "file .secret beside the database). Enter the key again in the console, under Model servers"
        )
    return str(key)


def known_reasoning(database: Database) -> Mapping[tuple[str, str], bool]:
    """By a server's address and a model's name there."""
    with database.connect() as connection:
        rows = connection.execute(select(_reasoning.url, _reasoning.model, _reasoning.unopened)).all()
    return {(url, model): unopened for url, model, unopened in rows}


def save_reasoning(database: Database, url: str, model: str, *, unopened: bool, at_us: int) -> None:
    row = {"url": url, "model": model, "unopened": unopened, "at_us": at_us}
    with writer(database) as connection, connection.begin():
        upsert(connection, tables.model_reasoning, [row], ["url", "model"])
