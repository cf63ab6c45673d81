"""Who guesses passwords is slowed by network, and keeps nobody out who knows theirs."""

from __future__ import annotations

import logging
from contextlib import suppress

import pytest
from starlette.types import ASGIApp

from storage.accounts.login_sessions import MOST_TRIES
from storage.errors import LoginRefused, TooMany
from tests.fakes.accounts import BETTER, GOOD, Place
from tests.fakes.console_door import browser

pytestmark = pytest.mark.anyio


def judged(place: Place) -> int:
    return sum(deed["what"] == "failed to log in" for deed in place.rows("deed"))


def guess(place: Place, name: str, address: str, times: int = 1) -> None:
    for _ in range(times):
        with suppress(LoginRefused):
            place.accounts.logins.log_in(name, BETTER, address)


async def test_a_stranger_who_knows_a_name_keeps_nobody_out(door: ASGIApp, place: Place) -> None:
    owner = browser(door, address="203.0.113.1")
    for number in range(100):
        guess(place, "ada", f"192.0.2.{number}")
    before, found = judged(place), []
    for _ in range(10):
        guess(place, "ada", "198.51.100.9", 2 * MOST_TRIES)
        owner.client.cookies.clear()
        found.append((await owner.log_in("ada", GOOD)).status_code)
        place.clock.advance(60)
    assert found == [303] * 10
    assert judged(place) - before == 10 * MOST_TRIES
    await owner.client.aclose()


def test_the_many_networks_of_one_home_have_few_tries(place: Place) -> None:
    for number in range(20):
        guess(place, "ada", f"2001:db8:0:{number:x}::1")
    assert judged(place) == 2 * MOST_TRIES


def test_what_was_typed_as_a_name_is_in_no_log_and_no_row(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    secret = "mysecretpassword123!"
    with caplog.at_level(logging.DEBUG):
        for _ in range(3 * MOST_TRIES):
            with pytest.raises(LoginRefused):
                place.accounts.logins.log_in(secret, "x", "192.0.2.1")
            with pytest.raises(LoginRefused):
                place.accounts.logins.log_in("ada", "x", "192.0.2.2")
        with pytest.raises(TooMany):
            place.accounts.logins.log_in(f" {secret.upper()}\n", "x", "192.0.2.1")
    assert secret not in caplog.text.lower()
    assert "mysecret" not in repr([place.rows(name) for name in ("researcher", "login", "invitation", "deed")])
    assert "ada" in caplog.text, "of an account that there is, it is told"
