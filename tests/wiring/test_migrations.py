"""Migrations: from the first tables, with data, on both databases, every row is kept or nothing is changed."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, insert, inspect, select, text
from sqlalchemy.exc import DBAPIError

from app.bots.random_bot import RandomBot
from app.clock import VirtualClock
from app.session.service import SessionService
from storage.db.backup import check_backup
from storage.db.engine import connect, open_database, outdated_tables, writer
from storage.db.revisions import OWN, Revisions, stamped
from storage.errors import StorageError
from storage.log.event_log import Log
from storage.log.projections import differences, rebuild
from storage.log.seats import last_us
from storage.migrations.migrate import TableContent, content, migrate, migration_status
from storage.schemas.registry import schemas
from storage.tables import metadata, seats, studies, usage
from tests.fakes.clicks import finish, present
from tests.fakes.one_database import one_database
from tests.fakes.served import settings_for

FOLLOWS = {seats.name, usage.name} | {table.name for schema in schemas().values() for table in schema.tables}
Naming = Callable[[str], Path]


# A database as Parley 0.2 makes it: tables and rows, frozen with revision 0001 from simulated sessions and some that
# withdrew, were excluded or stopped on the way. Once 0.2 is released, never make them anew: its databases hold them.
FOLDER = Path(__file__).parents[1] / "migrations"
# Parley's own revision, and two of the tests'.
LATER = Revisions((*OWN.folders, FOLDER / "later"))
# How many facts the frozen rows have.
FACTS = 387


def make_first(url: str, copies: int = 1) -> None:
    """Fill an empty database; more copies of every session have streams and ordinals of their own."""
    engine = connect(url)
    with writer(engine) as connection, connection.begin():
        for statement in (FOLDER / "first" / f"{engine.dialect.name}.sql").read_text(encoding="utf-8").splitlines():
            connection.exec_driver_sql(statement)
        frozen = _frozen()
        for number in range(copies):
            _insert(connection, frozen, number)
    engine.dispose()


def _frozen() -> Mapping[str, list[dict[str, Any]]]:
    rows = defaultdict(list)
    with gzip.open(FOLDER / "first" / "rows.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            name, row = json.loads(line)
            rows[name].append({column: _value(value) for column, value in row.items()})
    return rows


def _value(value: Any) -> Any:
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else value


def _insert(connection: Connection, frozen: Mapping[str, list[dict[str, Any]]], number: int) -> None:
    for name, rows in frozen.items():
        if number and "stream" not in rows[0]:
            continue  # not of a session, or made anew from the log
        columns = ", ".join(f'"{column}"' for column in rows[0])
        values = ", ".join(f":{column}" for column in rows[0])
        copied = [_copied(row, number) if number else row for row in rows]
        connection.execute(text(f'INSERT INTO "{name}" ({columns}) VALUES ({values})'), copied)


def _copied(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    ordinal = {"ordinal": row["ordinal"] + 1_000 * number} if "ordinal" in row else {}
    return {**row, **ordinal, "stream": f"{number:04}{row['stream'][4:]}"}


@pytest.fixture
def backup(tmp_path: Path) -> Naming:
    return lambda revision: tmp_path / f"before-{revision}.db"


def contents(url: str, known: Mapping[str, TableContent] | None = None) -> dict[str, TableContent]:
    """Every table's rows and digests; the columns and order of what is `known`, if anything is."""
    engine = connect(url)
    with engine.connect() as connection:
        names = known or [name for name in inspect(connection).get_table_names() if name != "alembic_version"]
        found = {name: content(connection, name, known[name].key if known else ()) for name in names}
    engine.dispose()
    if known is None:
        return found
    kept = {name: {column: one.columns[column] for column in known[name].columns} for name, one in found.items()}
    return {name: TableContent(one.rows, kept[name], one.key) for name, one in found.items()}


def with_first(url: str, *, soak: bool) -> dict[str, TableContent]:
    copies = 26 if soak else 3
    make_first(url, copies)
    before = contents(url)
    assert before["event"].rows == copies * FACTS >= (10_000 if soak else 1_000)
    assert sum(one.rows > 0 for one in before.values()) >= 11
    return before


def test_every_row_of_the_first_tables_is_kept_by_later_revisions(
    database_url: str, backup: Naming, soak: bool
) -> None:
    before = with_first(database_url, soak=soak)
    done = migrate(database_url, backup, revisions=LATER)
    assert done.revisions == [*OWN.names[1:], "9001", "9002"]
    before = but(before, *FOLLOWS)
    assert contents(database_url, before) == before
    database = open_database(database_url, revisions=LATER)
    with database.connect() as connection:
        remarks = connection.execute(text("SELECT count(*), count(DISTINCT stream) FROM remark")).one()
        assert tuple(remarks) == (before["session"].rows, before["session"].rows)
        assert {column["name"] for column in inspect(connection).get_columns("event")} >= {"release", "key"}
        assert {index["name"] for index in inspect(connection).get_indexes("event")} >= {"ix_event_finished"}
        if database.dialect.name == "sqlite":
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
            assert check_backup(done.backup).facts == before["event"].rows
            assert contents(f"sqlite:///{done.backup}", before) == before
    database.dispose()


def but(known: Mapping[str, TableContent], *names: str) -> dict[str, TableContent]:
    return {name: one for name, one in known.items() if name not in names}


@one_database
def test_who_had_begun_before_an_upgrade_finishes_after_it(database_url: str, backup: Naming, tmp_path: Path) -> None:
    make_first(database_url)
    migrate(database_url, backup, revisions=LATER)
    database = open_database(database_url, revisions=LATER)
    with database.connect() as connection:
        wanted = "SELECT stream FROM seat WHERE outcome IS NULL"
        streams = list(connection.execute(text(wanted)).scalars())

    async def go_on(stream: str) -> None:
        before = await present(runtime, stream)
        live = await finish(runtime, before, RandomBot(stream), clock, 1)
        assert live.state.events[: len(before.state.events)] == before.state.events
        assert live.state.outcome == "complete"

    async def all_go_on() -> None:
        for stream in streams:
            await go_on(stream)
        await runtime.close()

    clock = VirtualClock(last_us(database) + 1_000_000)
    runtime = SessionService(database, settings_for(tmp_path, database_url=database_url), clock)
    assert streams
    asyncio.run(all_go_on())
    assert list(differences(database)) == []
    database.dispose()


def test_the_first_database_is_recognised_and_has_the_tables_of_today(database_url: str) -> None:
    make_first(database_url)
    assert migration_status(database_url).revision == "0001"
    database = open_database(database_url)

    def beside(_: object, name: str | None, kind: str, *more: object) -> bool:
        return kind != "table" or name not in FOLLOWS

    with database.connect() as connection:
        assert stamped(connection) == OWN.names[-1]
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_object": beside})
        assert compare_metadata(context, metadata) == [], "a table was changed: it needs a revision"
        assert outdated_tables(connection) == []
    rebuild(database)
    assert list(differences(database)) == []
    for words in ("UPDATE event SET kind = 'other'", "DELETE FROM event WHERE kind <> 'withdrew'"):
        with writer(database) as connection, pytest.raises(DBAPIError, match="a fact is"), connection.begin():
            connection.execute(text(words))
    database.dispose()


def test_a_table_of_another_program_that_is_called_as_ours_is_left_alone(database_url: str) -> None:
    engine = connect(database_url)
    with writer(engine) as connection, connection.begin():
        connection.exec_driver_sql("CREATE TABLE event (a integer)")
    for look in (migration_status, open_database):
        with pytest.raises(StorageError, match="this database belongs to another program"):
            look(database_url)
    with engine.connect() as connection:
        assert inspect(connection).get_table_names() == ["event"]
    engine.dispose()


@one_database
def test_nothing_starts_on_older_or_newer_tables_and_what_to_do_is_said(database_url: str, backup: Naming) -> None:
    make_first(database_url)
    before = contents(database_url)
    with pytest.raises(StorageError, match=r"revision 0001.*needed: 9002.*parley db migrate"):
        open_database(database_url, revisions=LATER)
    assert contents(database_url) == before
    migrate(database_url, backup, revisions=LATER)
    with pytest.raises(StorageError, match=r"revision 9002.*newer Parley.*the backup from before"):
        open_database(database_url)


LOSING = """
from alembic import op
from storage.migrations.migrate import OWN
revision = "9001"
down_revision = OWN.names[-1]

def upgrade():
    op.execute("{words}")
"""


WRONG = (
    ("INSERT INTO erasure SELECT stream, 0, 'x', 'x' FROM session WHERE ordinal < 3", "erasure has 1 rows"),
    ("DELETE FROM telemetry", "telemetry has 3 rows, and would have 0"),
    ("DROP TABLE attempt", "attempt has 48 rows"),
    ("ALTER TABLE event RENAME COLUMN by TO whose", "the column by of event"),
)


def losing(folder: Path, words: str) -> Revisions:
    folder.mkdir()
    (folder / "r9001_losing.py").write_text(LOSING.format(words=words), encoding="utf-8")
    return Revisions((*OWN.folders, folder))


def test_a_revision_that_would_lose_something_changes_nothing(database_url: str, tmp_path: Path, soak: bool) -> None:
    make_first(database_url)
    before = contents(database_url)
    own = WRONG[:2] if database_url.startswith("sqlite") else WRONG[2:]  # each way once
    for number, (words, said) in enumerate(WRONG if soak else own):
        (aside := tmp_path / f"aside{number}").mkdir()
        with pytest.raises(StorageError, match=f"nothing was migrated: {said}"):
            migrate(database_url, (aside / "a.db").with_stem, revisions=losing(tmp_path / f"{number}", words))
        assert contents(database_url) == before
        assert migration_status(database_url).revision == "0001"


def test_a_database_that_is_in_use_is_not_migrated(tmp_path: Path, backup: Naming) -> None:
    url = f"sqlite:///{tmp_path}/parley.db"
    make_first(url)
    database = open_database(url)
    log = Log(database)
    with pytest.raises(StorageError, match="is in use"):
        migrate(url, backup, revisions=LATER)
    log.close()
    database.dispose()
    assert migrate(url, backup, revisions=LATER).backup == tmp_path / f"before-{OWN.names[-1]}.db"


@one_database
def test_a_database_with_a_study_that_cannot_be_read_is_left_as_it_is(database_url: str, backup: Naming) -> None:
    make_first(database_url)
    engine = connect(database_url)
    with writer(engine) as connection, connection.begin():
        document = json.loads(connection.execute(select(studies.c.document)).scalar_one())
        document["file"]["flow"][0]["step"] = "telepathy"  # of a package that is not installed
        other = {"hash": "f" * 64, "name": "far", "version": 1, "document": json.dumps(document), "registered_us": 0}
        connection.execute(insert(studies), [other])
    engine.dispose()
    before = contents(database_url)
    with pytest.raises(StorageError, match=r"(?s)Nothing was migrated.*flow\[0\].*telepathy"):
        migrate(database_url, backup, revisions=LATER)
    assert contents(database_url) == before
    assert migration_status(database_url).revision == "0001"
    assert not backup("0001").exists()


def test_the_backup_is_named_whatever_fails_afterwards(tmp_path: Path, backup: Naming) -> None:
    make_first(url := f"sqlite:///{tmp_path}/parley.db")
    named: list[Path] = []
    with pytest.raises(StorageError, match="nothing was migrated"):
        migrate(url, backup, revisions=losing(tmp_path / "losing", WRONG[0][0]), on_backup=named.append)
    assert named == [backup("0001")]
    assert check_backup(named[0]).facts == FACTS
