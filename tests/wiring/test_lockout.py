"""Who guesses passwords is slowed, by address and by account, and keeps nobody out who knows theirs."""

from __future__ import annotations

import logging
from contextlib import suppress

import pytest
from starlette.types import ASGIApp

from app.web.console.known_browsers import link
from storage.accounts.login_throttle import MOST_TRIES, PER_ACCOUNT
from storage.errors import LoginRefused, TooMany
from tests.fakes.accounts import BETTER, GOOD, Place
from tests.fakes.console_door import browser
from tests.fakes.served import SECRET

pytestmark = pytest.mark.anyio
HOUR_S = 3_600


def judged(place: Place) -> int:
    return sum(deed["what"] == "failed to log in" for deed in place.rows("deed"))


def guess(place: Place, name: str, address: str, times: int = 1) -> None:
    for _ in range(times):
        with suppress(LoginRefused):
            place.accounts.logins.log_in(name, BETTER, address)


async def test_a_stranger_who_knows_a_name_keeps_nobody_out(door: ASGIApp, place: Place) -> None:
    owner = browser(door, address="203.0.113.1")
    found = []
    for _ in range(10):
        guess(place, "ada", "198.51.100.9", 2 * MOST_TRIES)
        owner.client.cookies.clear()
        found.append((await owner.log_in("ada", GOOD)).status_code)
        place.clock.advance(60)
    assert found == [303] * 10
    assert judged(place) <= 10 * MOST_TRIES
    await owner.client.aclose()


async def test_a_browser_that_was_logged_in_before_is_not_held_up_by_others(door: ASGIApp, place: Place) -> None:
    own = "198.51.100.7"
    known, fresh = browser(door, address=own), browser(door, address="203.0.113.1")
    assert (await known.log_in("ada", GOOD)).status_code == 303
    await known.send("/logout")
    for number in range(3 * PER_ACCOUNT):
        guess(place, "ada", f"2001:db8:{number:x}::1")
    guess(place, "nobody", own, MOST_TRIES)
    assert (await fresh.log_in("ada", GOOD)).status_code == 429
    assert (await known.log_in("bob", BETTER)).status_code == 429, "it is known for one account alone"
    for _ in range(2 * MOST_TRIES):
        assert (await known.log_in("ada", GOOD)).status_code == 303
        await known.send("/logout")
    for _ in range(MOST_TRIES):
        assert (await known.log_in("ada", BETTER)).status_code == 401
    assert (await known.log_in("ada", GOOD)).status_code == 429, "whoever has taken it may not guess for ever"
    for one in (known, fresh):
        await one.client.aclose()


async def test_a_browser_that_makes_itself_known_is_not(door: ASGIApp, place: Place) -> None:
    bobs = browser(door, address="203.0.113.2")
    assert (await bobs.log_in("bob", BETTER)).status_code == 303
    await bobs.send("/logout")
    (name, value) = next((name, value) for name, value in bobs.client.cookies.items() if "known" in name)
    for number in range(3 * PER_ACCOUNT):
        guess(place, "ada", f"2001:db8:{number:x}::1")
    adas = browser(door, address="203.0.113.9")
    assert (await adas.log_in("ada", GOOD)).status_code == 429
    place.clock.advance(HOUR_S)
    assert (await adas.log_in("ada", GOOD)).status_code == 303
    (hers,) = (name for name in adas.client.cookies if "known" in name)
    assert hers != name
    for number in range(3 * PER_ACCOUNT):
        guess(place, "ada", f"2001:db9:{number:x}::1")
    for forged in (value, value[:-2] + "xx", "x", "a" * 5_000):
        bobs.client.cookies.set(hers, forged, domain="console.example")
        assert (await bobs.log_in("ada", GOOD)).status_code == 429
    await bobs.client.aclose()
    await adas.client.aclose()


async def test_a_command_on_the_machine_lets_an_owner_in(door: ASGIApp, place: Place) -> None:
    for number in range(3 * PER_ACCOUNT):
        guess(place, "ada", f"2001:db8:{number:x}::1")
    owner = browser(door, address="203.0.113.1")
    assert (await owner.log_in("ada", GOOD)).status_code == 429
    path = link(SECRET, place.clock, "Ada")
    for wrong in (path[:-2] + "xx", "/known/x", path.replace("/known/", "/known/x")):
        assert (await owner.get(wrong)).status_code == 404
    assert (await owner.log_in("ada", GOOD)).status_code == 429
    assert (await owner.get(path)).headers["location"] == "/login"
    assert (await owner.get("/")).headers["location"] == "/login", "the link alone lets nobody in"
    assert (await owner.log_in("ada", GOOD)).status_code == 303
    place.clock.advance(24 * HOUR_S + 1)
    assert (await owner.get(path)).status_code == 404
    await owner.client.aclose()


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
