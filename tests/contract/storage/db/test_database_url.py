"""Addresses of databases: read as the drivers read them, refused in words, and never shown with a password."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.db.database_url import parse_database_url, redact_password
from storage.db.engine import open_database
from storage.errors import StorageError
from tests.fakes.commanding import parley

SECRET = "hush-hush-hush"
PASSWORDS = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=20)


@given(PASSWORDS)
def test_no_password_is_shown_however_it_is_written(password: str) -> None:
    guarded = f"<{password}>"
    for url in (
        f"postgresql://ada:{guarded}@host/name",
        f"postgresql://ada@server:{guarded}@host/name",
        f"postgresql+psycopg://ada:{quote(guarded, safe='')}@host:5432/name",
        f"postgresql://host/name?password={quote(guarded, safe='')}&sslmode=require",
    ):
        shown = redact_password(url)
        assert guarded not in shown
        assert quote(guarded, safe="") not in shown
        assert "host" in shown
        assert "/name" in shown


@given(PASSWORDS)
def test_a_password_that_is_not_quoted_is_read_as_it_is_or_refused_with_how_to_quote_it(password: str) -> None:
    url = f"postgresql://ada:{password}@host:5432/name"
    if "@" in password:
        with pytest.raises(StorageError, match=r"%40.*%3A.*%2F.*urllib\.parse") as refused:
            parse_database_url(url)
        assert f":{password}@" not in str(refused.value)
    else:
        address = parse_database_url(url)
        assert (address.host, address.port, address.database) == ("host", 5432, "name")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("url", "why"),
    [
        (f"postgresql://ada:x@{SECRET}@host/name", "write @ as %40"),
        (f"postgresql://ada:x@{SECRET}:y@host/name", "write @ as %40"),
        (f"postgresql://ada:x@y/{SECRET}@host/name", "write @ as %40"),
        (f"postgresql://ada:x@y?{SECRET}@host/name", "write @ as %40"),
        (f"postgresql://ada:{SECRET}@host:82x/name", "its port is not a number"),
        (f"mysql://ada:{SECRET}@host/name", "allowed: sqlite, or postgresql with psycopg"),
        (f"postgresql+nothing://ada:{SECRET}@host/name", "allowed: sqlite, or postgresql with psycopg"),
        ("sqlite://", "it has no file"),
        ("sqlite:///:memory:", "it has no file"),
        ("parley.db", "it cannot be parsed"),
    ],
)
def test_what_is_no_address_is_told_without_the_password(tmp_path: Path, url: str, why: str) -> None:
    for command in (("db", "verify"), ("simulate", "demo", "-n", "1")):
        done = parley(*command, folder=tmp_path, PARLEY_DATABASE_URL=url)
        assert (done.returncode, why in done.stderr) == (2, True), done.stderr
        assert SECRET not in done.stdout + done.stderr
    assert not list(tmp_path.iterdir()), "no file of a wrong name is left"


def test_a_new_database_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        database = open_database(f"sqlite:///{tmp_path}/parley.db")
    finally:
        os.umask(before)
    with database.connect():
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    database.dispose()
    assert modes["parley.db"] == 0o600
    assert set(modes.values()) == {0o600}, "what goes with it is nobody else's either"
