"""Accounts, logins and passwords: how they are made, that an owner always stays, and how often one may try."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from argon2 import PasswordHasher, extract_parameters
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from app.cli.accounts import invite_first
from app.clock import SystemClock
from storage.accounts.accounts import Accounts
from storage.accounts.login_sessions import MOST_TRIES, NOBODY
from storage.accounts.passwords import MOST_CHARS, Passwords, refuse_weak
from storage.accounts.roles import FIRST, STRANGER, TERMINAL, name_for
from storage.db.engine import open_database, writer
from storage.errors import AccountError, LoginRefused, TooMany
from tests.fakes.accounts import BETTER, CHEAP, GOOD, HOME, Place, a_place, ada_and_bob
from tests.fakes.commanding import Done, parley
from tests.fakes.served import settings_for


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Place]:
    with a_place(f"sqlite:///{tmp_path}/empty.db") as found:
        yield found


@pytest.fixture
def each_place(database_url: str) -> Iterator[Place]:
    """Of each kind of database, where two may come at once or the database itself refuses."""
    with ada_and_bob(database_url) as found:
        yield found


def who(accounts: Accounts) -> list[tuple[str, str]]:
    return [(account.name, account.role) for account in accounts.everybody()]


def test_nothing_that_opens_a_door_is_in_the_database(place: Place) -> None:
    token = place.accounts.logins.log_in("ada", GOOD, HOME)
    invitation = place.accounts.invitations.make("analyst", "ada")
    kept = repr([place.rows(name) for name in ("researcher", "login", "invitation", "deed")])
    assert all(secret not in kept for secret in (token, invitation, GOOD, BETTER))
    assert all(row["password"].startswith("$argon2id$") for row in place.rows("researcher"))
    assert min(len(token), len(invitation)) >= 43, "256 bits"


def test_a_name_that_could_mislead_is_refused() -> None:
    for name in ("", TERMINAL, "a\nb", "-x", "é", "x" * 61, "<b>", FIRST, "a/b"):
        with pytest.raises(AccountError):
            name_for(name)


def test_one_owner_always_stays(place: Place) -> None:
    for change in (
        lambda: place.accounts.remove("ada", "bob"),
        lambda: place.accounts.change_role("ada", "analyst", "bob"),
    ):
        with pytest.raises(AccountError, match="the only owner"):
            change()
    place.accounts.change_role("bob", "owner", "ada")
    place.accounts.remove("ada", "bob")
    assert who(place.accounts) == [("bob", "owner")]
    with pytest.raises(AccountError, match="There is no account 'ada'"):
        place.accounts.remove("ada", "bob")


def test_two_owners_who_remove_each_other_at_once_leave_one(each_place: Place) -> None:
    for round_ in range(2):
        names = [f"owner{round_}{side}" for side in "ab"]
        for account in each_place.accounts.everybody():
            each_place.accounts.change_role(account.name, "owner", TERMINAL)
        for name in names:
            each_place.accounts.add(name, GOOD, "owner", TERMINAL)
        for account in each_place.accounts.everybody():
            if account.name not in names:
                each_place.accounts.remove(account.name, TERMINAL)

        def remove(name: str) -> bool:
            try:
                each_place.accounts.remove(name, TERMINAL)
            except AccountError:
                return False
            return True

        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(remove, names)) == [False, True]


def test_an_invitation_makes_one_account(empty: Place) -> None:
    token = empty.accounts.invitations.first()
    assert token is not None
    assert empty.accounts.invitations.role(token) == "owner"
    with pytest.raises(AccountError, match="15 or more"):
        empty.accounts.accept(token, "ada", "short")
    empty.accounts.accept(token, "Ada", GOOD)
    assert who(empty.accounts) == [("ada", "owner")]
    with pytest.raises(AccountError, match="has been used"):
        empty.accounts.accept(token, "eve", GOOD)
    guest = empty.accounts.invitations.make("analyst", "ada")
    with pytest.raises(AccountError, match="only once"):
        empty.accounts.accept(guest, "ada", GOOD)
    empty.accounts.accept(guest, "bob", GOOD)
    assert who(empty.accounts) == [("ada", "owner"), ("bob", "analyst")]


def test_an_invitation_is_good_for_a_day_and_as_long_as_who_made_it_is_an_owner(place: Place) -> None:
    accounts, invitations = place.accounts, place.accounts.invitations
    old = invitations.make("analyst", TERMINAL)
    place.clock.advance(24 * 3600 - 1)
    fresh = invitations.make("owner", "ada")
    assert (invitations.role(old), invitations.role(fresh)) == ("analyst", "owner")
    place.clock.advance(1)
    assert (invitations.role(old), invitations.role(fresh)) == (None, "owner")
    accounts.change_role("bob", "owner", "ada")
    accounts.change_role("ada", "analyst", "bob")
    assert invitations.role(fresh) is None
    with pytest.raises(AccountError, match="has been used, has expired"):
        accounts.accept(fresh, "eve", GOOD)
    assert invitations.role("x" * 43) is None


def test_an_invitation_that_two_use_at_once_makes_one_account(each_place: Place) -> None:
    token = each_place.accounts.invitations.make("analyst", TERMINAL)

    def accept(name: str) -> bool:
        try:
            each_place.accounts.accept(token, name, GOOD)
        except AccountError:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(accept, ["a", "b", "c", "d"])) == [False, False, False, True]


def test_what_was_done_is_told_in_the_same_transaction(place: Place) -> None:
    token = place.accounts.logins.log_in("ada", GOOD, HOME)
    place.accounts.change_role("bob", "owner", "ada")
    with pytest.raises(LoginRefused):
        place.accounts.logins.log_in("bob", GOOD, HOME)
    with pytest.raises(LoginRefused):
        place.accounts.logins.log_in(GOOD, "ada", HOME)
    place.accounts.logins.log_out(token)
    with pytest.raises(AccountError):
        place.accounts.change_role("nobody", "owner", "ada")
    assert [(deed.who, deed.what, deed.about) for deed in place.accounts.audit_log.read()] == [
        ("ada", "logged out", ""),
        (STRANGER, "failed to log in", f"as {NOBODY}, from {HOME}"),
        (STRANGER, "failed to log in", f"as bob, from {HOME}"),
        ("ada", "changed a role", "bob: owner"),
        ("ada", "logged in", f"from {HOME}"),
        ("ada", "created an account", "bob: analyst"),
        (TERMINAL, "created an account", "ada: owner"),
    ]


def test_nobody_changes_or_deletes_a_deed(each_place: Place) -> None:
    for statement in ("UPDATE deed SET who = 'bob'", "DELETE FROM deed"):
        with writer(each_place.database) as connection, pytest.raises(DatabaseError, match="never"):
            connection.execute(text(statement))
    assert len(each_place.accounts.audit_log.read()) == 2


LINK = re.compile(r"^ *(http\S+)/welcome/([\w-]{43})$", re.MULTILINE)


def accounts_of(folder: Path) -> Accounts:
    return Accounts(open_database(f"sqlite:///{folder}/parley.db"), SystemClock().now_us)


def add(folder: Path, name: str = "ada", role: str = "owner", password: str = GOOD) -> Done:
    return parley("accounts", "add", name, "--role", role, "--password-stdin", folder=folder, typed=f"{password}\n")


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


def test_passwords_are_kept_as_the_library_recommends() -> None:
    kept = extract_parameters(Passwords().kept(GOOD))
    assert (kept.time_cost, kept.memory_cost, kept.parallelism) >= (3, 64 * 1024, 4)


@given(password=st.text(st.characters(), max_size=MOST_CHARS + 20))
def test_every_password_is_refused_in_words_or_fits_what_is_kept_of_it(password: str) -> None:
    try:
        refuse_weak(password, "ada")
    except AccountError:
        return
    passwords = Passwords(CHEAP)
    kept = passwords.kept(password)
    assert passwords.fits(kept, password)
    assert not passwords.fits(kept, password + "x")


def test_who_is_unknown_and_who_is_wrong_hear_the_same(place: Place) -> None:
    place.accounts.remove("bob", "ada")
    said = set()
    wrong = [("ada", BETTER), ("nobody", GOOD), ("bob", BETTER), ("", ""), ("ada", "x" * 5_000)]
    wrong += [(name, GOOD) for name in ("ada\x00", "a\ud800", "x" * 100_000)]
    for number, (name, password) in enumerate(wrong):
        with pytest.raises(LoginRefused) as refused:
            place.accounts.logins.log_in(name, password, f"192.0.2.{number}")
        said.add(str(refused.value))
    assert len(said) == 1


def test_a_name_that_nobody_has_costs_the_same_work() -> None:
    class Counting(PasswordHasher):
        asked: list[str] = []

        def verify(self, hash: str | bytes, password: str | bytes) -> bool:
            self.asked.append(str(hash))
            return super().verify(hash, password)

    passwords = Passwords(Counting(time_cost=1, memory_cost=64, parallelism=1))
    assert not passwords.fits(None, GOOD)
    assert not passwords.fits(passwords.kept(BETTER), GOOD)
    unknown, known = (extract_parameters(kept) for kept in Counting.asked)
    assert unknown == known


def test_of_a_hundred_tries_at_once_five_are_judged(place: Place) -> None:
    judged: list[str] = []

    class Counting(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> bool:
            judged.append(str(hash))
            return super().verify(hash, password)

    hasher = Counting(time_cost=1, memory_cost=64, parallelism=1)
    logins = Accounts(place.database, place.clock.now_us, hasher=hasher).logins

    def attempt(_: int) -> type[Exception]:
        try:
            logins.log_in("ada", BETTER, HOME)
        except LoginRefused as error:
            return type(error)
        raise AssertionError("let in")

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(attempt, range(100)))
    assert (found.count(LoginRefused), found.count(TooMany)) == (MOST_TRIES, 100 - MOST_TRIES)
    assert len(judged) == MOST_TRIES <= 10
