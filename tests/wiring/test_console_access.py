"""The login and the welcome: forms of our own pages only, cookies that no script reads, and a name that is nobody's."""

from pathlib import Path

import httpx2
import pytest
from starlette.types import ASGIApp

from tests.fakes.accounts import BETTER, GOOD, Place, a_place
from tests.fakes.console_door import Browser, behind, browser, mark

pytestmark = pytest.mark.anyio


def cookies(response: httpx2.Response) -> dict[str, set[str]]:
    """The cookies that a response sets, each with its flags."""
    found = {}
    for line in response.headers.get_list("set-cookie"):
        pair, *flags = (part.strip() for part in line.split(";"))
        found[pair.partition("=")[0]] = set(flags)
    return found


@pytest.mark.parametrize(("scheme", "prefix"), [("http", ""), ("https", "__Host-")])
async def test_cookies_are_the_browsers_and_this_hosts_alone(place: Place, scheme: str, prefix: str) -> None:
    visitor = browser(behind(place, secure=scheme == "https"), scheme=scheme)
    flags = {"HttpOnly", "Path=/", "SameSite=strict", *({"Secure"} if prefix else ())}
    assert cookies(await visitor.get("/login")) == {f"{prefix}parley-console-form": flags}
    response = await visitor.log_in("ada", GOOD)
    ended = flags | {"Max-Age=0"}
    found = {name: {flag for flag in kept if "expires" not in flag} for name, kept in cookies(response).items()}
    assert found == {f"{prefix}parley-console": flags, f"{prefix}parley-console-form": ended}
    assert (await visitor.get("/")).json()["by"] == "ada"
    await visitor.client.aclose()


async def test_a_form_that_is_not_our_pages_is_refused(door: ASGIApp, place: Place, stranger: Browser) -> None:
    known = {"name": "ada", "password": GOOD}
    welcome = f"/welcome/{place.accounts.invitations.make('owner', 'ada')}"
    for form in (
        known,
        known | {"mark": mark(await browser(door).get("/login"))},
        known | {"mark": mark(await stranger.get(welcome))},
        {str(number): "x" for number in range(100)},
        known | {"mark": mark(await stranger.get("/login")), "no": "cookie"},
    ):
        if "no" in form:
            stranger.client.cookies.clear()
        response = await stranger.send("/login", form)
        assert response.status_code == 403
        assert "parley-console" not in cookies(response)
    assert (await stranger.log_in("ada", GOOD)).status_code == 303, "the form that is shown instead is good"


async def join(visitor: Browser, link: str, name: str, password: str, again: str | None = None) -> httpx2.Response:
    form = {"name": name, "password": password, "again": password if again is None else again}
    return await visitor.send(link, {**form, "mark": mark(await visitor.get(link))})


async def test_the_first_owner_comes_in_by_the_link_and_nobody_after(tmp_path: Path) -> None:
    with a_place(f"sqlite:///{tmp_path}/first.db") as place:
        visitor = browser(behind(place))
        link = f"/welcome/{place.accounts.invitations.first()}"
        assert "You were invited as an owner" in (await visitor.get(link)).text
        for name, password, again, why in (
            ("grace", GOOD, BETTER, "differ"),
            ("grace", "short", "short", "15 or more are needed"),
            ("grace", "passwordpassword", "passwordpassword", "easy to guess"),
            ("gra ce", GOOD, GOOD, "cannot be an account name"),
        ):
            refused = await join(visitor, link, name, password, again)
            assert (refused.status_code, why in refused.text, f'value="{name}"' in refused.text) == (422, True, True)
        joined = await join(visitor, link, "grace", GOOD)
        assert (joined.status_code, joined.headers["location"]) == (303, "/")
        assert (await visitor.get("/")).json()["by"] == "grace"
        for response in (await visitor.get(link), await visitor.send(link)):
            assert (response.status_code, "not valid" in response.text) == (404, True)
        assert [account.name for account in place.accounts.everybody()] == ["grace"]
        await visitor.client.aclose()
