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
