"""Accounts: how they are made, that an owner always stays, invitations of one use, and deeds that are for good."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from storage.accounts.accounts import Accounts
from storage.accounts.names import FIRST, TERMINAL, name_for
from storage.engine import writer
from storage.errors import AccountError, LoginRefused
from tests.fakes.accounts import BETTER, GOOD, HOME, Place, a_place, ada_and_bob


@pytest.fixture
def place(database_url: str) -> Iterator[Place]:
    with a_place(database_url) as found:
        yield found


@pytest.fixture
def ada(database_url: str) -> Iterator[Place]:
    with ada_and_bob(database_url) as found:
        yield found


def who(accounts: Accounts) -> list[tuple[str, str]]:
    return [(account.name, account.role) for account in accounts.everybody()]


def test_an_account_is_made_and_logs_in_whatever_the_case_of_its_name(ada: Place) -> None:
    assert who(ada.accounts) == [("ada", "owner"), ("bob", "analyst")]
    for name in ("ada", "ADA", " Ada "):
        known = ada.accounts.logins.visitor(ada.accounts.logins.log_in(name, GOOD, HOME))
        assert known is not None
        assert (known.name, known.role) == ("ada", "owner")


def test_nothing_that_opens_a_door_is_in_the_database(ada: Place) -> None:
    token = ada.accounts.logins.log_in("ada", GOOD, HOME)
    invitation = ada.accounts.invitations.make("analyst", "ada")
    kept = repr([ada.rows(name) for name in ("researcher", "login", "invitation", "deed")])
    assert all(secret not in kept for secret in (token, invitation, GOOD, BETTER))
    assert all(row["password"].startswith("$argon2id$") for row in ada.rows("researcher"))
    assert min(len(token), len(invitation)) >= 43, "256 bits"


@pytest.mark.parametrize("name", ["", "the terminal", "a\nb", "-x", "é", "x" * 61, "<b>", FIRST, "a/b"])
def test_a_name_that_could_mislead_is_refused(name: str) -> None:
    with pytest.raises(AccountError, match="cannot be a name"):
        name_for(name)


def test_a_name_is_given_only_once(ada: Place) -> None:
    ada.accounts.remove("bob", "ada")
    for name in ("ADA", "bob"):
        with pytest.raises(AccountError, match="only once"):
            ada.accounts.add(name, GOOD, "analyst", TERMINAL)
    assert who(ada.accounts) == [("ada", "owner")]


def test_one_owner_always_stays(ada: Place) -> None:
    for change in (
        lambda: ada.accounts.remove("ada", "bob"),
        lambda: ada.accounts.change_role("ada", "analyst", "bob"),
    ):
        with pytest.raises(AccountError, match="the only owner"):
            change()
    ada.accounts.change_role("bob", "owner", "ada")
    ada.accounts.remove("ada", "bob")
    assert who(ada.accounts) == [("bob", "owner")]
    with pytest.raises(AccountError, match="There is no account 'ada'"):
        ada.accounts.remove("ada", "bob")


def test_two_owners_who_remove_each_other_at_once_leave_one(ada: Place) -> None:
    for round_ in range(5):
        names = [f"owner{round_}{side}" for side in "ab"]
        for account in ada.accounts.everybody():
            ada.accounts.change_role(account.name, "owner", TERMINAL)
        for name in names:
            ada.accounts.add(name, GOOD, "owner", TERMINAL)
        for account in ada.accounts.everybody():
            if account.name not in names:
                ada.accounts.remove(account.name, TERMINAL)

        def remove(name: str) -> bool:
            try:
                ada.accounts.remove(name, TERMINAL)
            except AccountError:
                return False
            return True

        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(remove, names)) == [False, True]


def test_an_invitation_makes_one_account(place: Place) -> None:
    token = place.accounts.invitations.first()
    assert token is not None
    assert place.accounts.invitations.role(token) == "owner"
    with pytest.raises(AccountError, match="15 or more"):
        place.accounts.accept(token, "ada", "short")
    place.accounts.accept(token, "Ada", GOOD)
    assert who(place.accounts) == [("ada", "owner")]
    with pytest.raises(AccountError, match="used already"):
        place.accounts.accept(token, "eve", GOOD)
    guest = place.accounts.invitations.make("analyst", "ada")
    with pytest.raises(AccountError, match="only once"):
        place.accounts.accept(guest, "ada", GOOD)
    place.accounts.accept(guest, "bob", GOOD)
    assert who(place.accounts) == [("ada", "owner"), ("bob", "analyst")]


def test_an_invitation_is_good_for_a_day_and_as_long_as_who_made_it_is_an_owner(ada: Place) -> None:
    accounts, invitations = ada.accounts, ada.accounts.invitations
    old = invitations.make("analyst", TERMINAL)
    ada.clock.advance(24 * 3600 - 1)
    fresh = invitations.make("owner", "ada")
    assert (invitations.role(old), invitations.role(fresh)) == ("analyst", "owner")
    ada.clock.advance(1)
    assert (invitations.role(old), invitations.role(fresh)) == (None, "owner")
    accounts.change_role("bob", "owner", "ada")
    accounts.change_role("ada", "analyst", "bob")
    assert invitations.role(fresh) is None
    with pytest.raises(AccountError, match="used already, is older"):
        accounts.accept(fresh, "eve", GOOD)
    assert invitations.role("x" * 43) is None


def test_the_first_owners_link_is_worth_nothing_once_there_is_somebody(place: Place) -> None:
    first, again = place.accounts.invitations.first(), place.accounts.invitations.first()
    assert first is not None
    assert again is not None
    place.accounts.accept(again, "ada", GOOD)
    assert place.accounts.invitations.role(first) is None
    assert place.accounts.invitations.first() is None


def test_an_invitation_that_two_use_at_once_makes_one_account(place: Place) -> None:
    token = place.accounts.invitations.make("analyst", TERMINAL)

    def accept(name: str) -> bool:
        try:
            place.accounts.accept(token, name, GOOD)
        except AccountError:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(accept, ["a", "b", "c", "d"])) == [False, False, False, True]


def test_what_was_done_is_told_in_the_same_transaction(ada: Place) -> None:
    token = ada.accounts.logins.log_in("ada", GOOD, HOME)
    ada.accounts.change_role("bob", "owner", "ada")
    with pytest.raises(LoginRefused):
        ada.accounts.logins.log_in("bob", GOOD, HOME)
    with pytest.raises(LoginRefused):
        ada.accounts.logins.log_in(GOOD, "ada", HOME)
    ada.accounts.logins.log_out(token)
    with pytest.raises(AccountError):
        ada.accounts.change_role("nobody", "owner", "ada")
    assert [(deed.who, deed.what, deed.about) for deed in ada.accounts.deeds()] == [
        ("ada", "logged out", ""),
        ("a stranger", "failed to log in", f"as nobody known, from {HOME}"),
        ("a stranger", "failed to log in", f"as bob, from {HOME}"),
        ("ada", "gave the role owner", "to bob"),
        ("ada", "logged in", f"from {HOME}"),
        ("ada", "made the account", "of bob, analyst"),
        (TERMINAL, "made the account", "of ada, owner"),
    ]


def test_deeds_are_read_a_page_at_a_time(ada: Place) -> None:
    for number in range(25):
        ada.accounts.did("bob" if number % 2 else "ada", "exported", f"study {number}")
    pages, before = [], None
    while page := ada.accounts.deeds("bob", before, most=5):
        pages.append([deed.about for deed in page])
        before = page[-1].id
    assert pages == [[f"study {n}" for n in range(23, 13, -2)], [f"study {n}" for n in range(13, 3, -2)],
                     ["study 3", "study 1"]]  # fmt: skip


def test_a_deed_is_one_line(place: Place) -> None:
    place.accounts.did("ada", "looked", "at x\n2026-01-01 bob removed everything\r\x1b[31m\u2028" + "y" * 9_999)
    (deed,) = place.accounts.deeds()
    assert deed.about.startswith("at x 2026-01-01 bob removed everything [31m y")
    assert len(deed.about) == 500


@pytest.mark.parametrize("statement", ["UPDATE deed SET who = 'bob'", "DELETE FROM deed"])
def test_nobody_changes_or_deletes_a_deed(ada: Place, statement: str) -> None:
    with writer(ada.database) as connection, pytest.raises(DatabaseError, match="what was done is never"):
        connection.execute(text(statement))
    assert len(ada.accounts.deeds()) == 2
