"""The commands about accounts: each does what it says, asks for passwords unseen, and no account comes with Parley."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from app.cli.accounts import invite_first
from app.clock import SystemClock
from storage.accounts.accounts import Accounts
from storage.db.engine import open_database
from tests.fakes.accounts import BETTER, GOOD, HOME
from tests.fakes.commanding import Done, parley
from tests.fakes.served import settings_for

LINK = re.compile(r"^ *(http\S+)/welcome/([\w-]{43})$", re.MULTILINE)


def accounts_of(folder: Path) -> Accounts:
    return Accounts(open_database(f"sqlite:///{folder}/parley.db"), SystemClock().now_us)


def add(folder: Path, name: str = "ada", role: str = "owner", password: str = GOOD) -> Done:
    return parley("accounts", "add", name, "--role", role, "--password-stdin", folder=folder, typed=f"{password}\n")


def test_there_is_no_account_until_one_is_made(tmp_path: Path) -> None:
    assert parley("accounts", "list", folder=tmp_path).returncode == 2, "no database is made by looking"
    accounts_of(tmp_path)  # makes one
    assert json.loads(parley("accounts", "list", "--json", folder=tmp_path).stdout) == []
    assert "http://127.0.0.1:7861" in add(tmp_path).stdout
    (account,) = json.loads(parley("accounts", "list", "--json", folder=tmp_path).stdout)
    assert (account["name"], account["role"], account["last_used"]) == ("ada", "owner", None)
    assert accounts_of(tmp_path).logins.log_in("ada", GOOD, HOME)
    (account,) = json.loads(parley("accounts", "list", "--json", folder=tmp_path).stdout)
    assert account["last_used"]


def test_a_password_is_changed_and_an_account_removed(tmp_path: Path) -> None:
    add(tmp_path)
    add(tmp_path, "bob", "analyst")
    token = accounts_of(tmp_path).logins.log_in("bob", GOOD, HOME)
    parley("accounts", "password", "bob", "--password-stdin", folder=tmp_path, typed=f"{BETTER}\n")
    assert accounts_of(tmp_path).logins.visitor(token) is None
    token = accounts_of(tmp_path).logins.log_in("bob", BETTER, HOME)
    assert "logged out everywhere" in parley("accounts", "remove", "bob", folder=tmp_path).stdout
    assert accounts_of(tmp_path).logins.visitor(token) is None
    refused = parley("accounts", "remove", "ada", folder=tmp_path)
    assert (refused.returncode, "only owner" in refused.stderr) == (2, True)


def test_the_first_start_prints_a_link_and_no_later_one_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_for(tmp_path, host="0.0.0.0", console_port=7999)
    database = open_database(settings.database_url)
    invite_first(settings, database)
    found = LINK.search(capsys.readouterr().out)
    assert found is not None
    assert found[1] == "http://127.0.0.1:7999"
    accounts_of(tmp_path).accept(found[2], "ada", GOOD)
    invite_first(settings, database)
    assert capsys.readouterr().out == ""
