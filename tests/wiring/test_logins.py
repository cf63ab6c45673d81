"""Logins and passwords: which are taken, how a login begins and ends, and how often it may be tried."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from argon2 import PasswordHasher, extract_parameters
from hypothesis import given
from hypothesis import strategies as st

from app.clock import VirtualClock
from storage.accounts.accounts import Accounts
from storage.accounts.login_throttle import MOST_TRIES, PER_ACCOUNT, PER_PAIR, LoginThrottle, limits
from storage.accounts.passwords import MOST_CHARS, Passwords, refuse_weak
from storage.errors import AccountError, LoginRefused, TooMany
from tests.fakes.accounts import BETTER, CHEAP, GOOD, HOME, Place, ada_and_bob


@pytest.fixture
def ada(database_url: str) -> Iterator[Place]:
    with ada_and_bob(database_url) as found:
        yield found


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


@pytest.mark.parametrize(("networks", "times"), [("2001:db8:0:{:x}::1", 2), ("2001:db8:0:{:x}00::1", 4)])
def test_the_many_networks_of_one_place_have_few_tries(networks: str, times: int) -> None:
    clock = VirtualClock(0)
    throttle = LoginThrottle(clock.now_us)

    def tries(names: str) -> int:
        """How many of those of a minute are taken, each from another network."""
        each = (limits(names.format(number), networks.format(number), "") for number in range(40))
        return sum(throttle.take(*one) == 0 for one in each)

    assert tries("ada{}") == times * MOST_TRIES
    clock.advance(60)
    taken = 0
    for _ in range(30):
        taken += tries("ada")
        clock.advance(60)
    assert taken == times * PER_PAIR < PER_ACCOUNT
