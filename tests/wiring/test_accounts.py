"""Accounts: how they are made, that an owner always stays, invitations of one use, and deeds that are for good."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from storage.accounts.accounts import Accounts
from storage.accounts.login_sessions import NOBODY
from storage.accounts.roles import FIRST, STRANGER, TERMINAL, name_for
from storage.db.engine import writer
from storage.errors import AccountError, LoginRefused
from tests.fakes.accounts import BETTER, GOOD, HOME, Place, a_place, ada_and_bob


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
    assert [(deed.who, deed.what, deed.about) for deed in place.accounts.audit_log()] == [
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
    assert len(each_place.accounts.audit_log()) == 2
