"""Files that are no database of Parley's: every command says so in a line, and leaves them as they are."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from storage.db.engine import open_database
from tests.fakes.commanding import parley

WORDS = (
    ("serve", "demo"),
    ("show", "status", "demo"),
    ("db", "migrate"),
)


def _words(file: Path) -> None:
    file.write_text("These are words, and no database.\n" * 200, encoding="utf-8")


def _torn(file: Path) -> None:
    open_database(f"sqlite:///{file}").dispose()
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))


def _foreign(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE recipe (name TEXT)")


KINDS = {"words": (_words, "no SQLite database"), "torn": (_torn, "damaged"), "foreign": (_foreign, "'recipe'")}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_what_is_no_database_of_parleys_is_told_and_left_alone(kind: str, words: tuple[str, ...], tmp_path: Path):
    file = tmp_path / "parley.db"
    make, said = KINDS[kind]
    make(file)
    was = _read(file, kind)
    done = parley(*words, folder=tmp_path, PARLEY_PORT="0")
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert str(file.name) in done.stderr
    assert _read(file, kind) == was


def _read(file: Path, kind: str) -> bytes | list[str]:
    if kind != "foreign":
        return file.read_bytes()
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())


def test_a_backup_is_put_in_the_place_of_a_damaged_database(tmp_path: Path) -> None:
    file, before = tmp_path / "parley.db", tmp_path / "before"
    before.mkdir()
    assert parley("simulate", "demo", "-n", "1", folder=before).returncode == 0
    assert parley("db", "backup", "../backup.db", folder=before).returncode == 0
    _torn(file)
    (tmp_path / "parley.db-wal").write_bytes(b"what is left of its journal")
    was = file.read_bytes()
    done = parley("db", "restore", "backup.db", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (aside,) = tmp_path.glob("parley-before-restore-*.db")
    assert aside.read_bytes() == was
    assert not (tmp_path / "parley.db-wal").exists()
    verified = parley("db", "verify", folder=tmp_path)
    assert (verified.returncode, "match the event log" in verified.stdout) == (0, True)


def test_the_tables_are_not_rebuilt_under_who_uses_them(tmp_path: Path) -> None:
    open_database(f"sqlite:///{tmp_path}/parley.db").dispose()
    with closing(sqlite3.connect(tmp_path / "parley.db")) as connection:
        connection.execute("SELECT count(*) FROM event").fetchone()
        done = parley("db", "rebuild", folder=tmp_path)
        assert done.returncode == 2
        assert "is in use" in done.stderr
    assert parley("db", "rebuild", folder=tmp_path).returncode == 0
