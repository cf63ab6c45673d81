"""The console as it is served: its routes, and the tab Accounts, which shows each what is theirs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from storage.accounts.roles import TERMINAL
from tests.fakes.accounts import BETTER, GOOD, Place
from tests.fakes.console import whole
from tests.fakes.researcher import HIDDEN, Researcher, text
from tests.fakes.served import settings_for
from tests.wiring.routes import routes

pytestmark = pytest.mark.anyio
# Of the others tests/wiring/test_console_gate.py tells that none is let through.
METHODS = ("GET", "POST")
STRANGERS = {"/login", "/welcome/x", "/healthz"}
VISITORS = {
    "/", "/logout", "/report/x", "/download/x", "/theme.css", "/favicon.ico", "/assets/x",
    "/gradio_api/run/predict", "/gradio_api/app_id", "/static/x", "/console/x",
    "/console/picture", "/console/release", "/console/study.schema.json", "/console/integrity.css",
    "/console/results.css",
}  # fmt: skip


@pytest.fixture
def console(place: Place, tmp_path: Path) -> Iterator[ASGIApp]:
    settings = settings_for(tmp_path, console_url="http://console.example.org")
    with whole(settings, place.database, place.clock) as made:
        yield made


async def inside(console: ASGIApp, name: str, password: str) -> AsyncIterator[Researcher]:
    async with Researcher(app=console) as found:
        await found.log_in(name, password)
        await found.open(tab="accounts")
        yield found


@pytest.fixture
async def ada(console: ASGIApp) -> AsyncIterator[Researcher]:
    async for found in inside(console, "ada", GOOD):
        yield found


@pytest.fixture
async def bob(console: ASGIApp) -> AsyncIterator[Researcher]:
    async for found in inside(console, "bob", BETTER):
        yield found


async def test_of_all_routes_a_stranger_reaches_the_login_alone(console: ASGIApp, ada: Researcher) -> None:
    paths = {path.replace("{path}", "x") for path in routes(console)} | VISITORS | {"/config", "/gradio_api/info"}
    assert len(paths) > 60, "the walk through the routes finds Gradio's"
    async with Researcher(app=console) as stranger:
        for path in sorted(paths):
            for method in METHODS:
                told = await stranger.client.request(method, path)
                known = await ada.client.request(method, path) if path != "/logout" else told
                if path in STRANGERS:
                    continue
                assert told.status_code in (303, 401), (method, path)
                assert told.content in (b"", b'{"note":"Please log in.","login":"/login"}'), (method, path)
                if path not in VISITORS:
                    assert (known.status_code, known.content or b"not found") == (404, b"not found"), (method, path)


@pytest.mark.nightly
async def test_an_analyst_reads_no_other_persons_deeds_whatever_is_asked(bob: Researcher, place: Place) -> None:
    place.accounts.audit_log.record("ada", "looked at", "canary-4711")
    for who in ("ada", "everybody", "", TERMINAL, None):
        for event, kind in (("people-who", "input"), ("people-newest", "click"), ("people-older", "click")):
            shown = await bob.on(event, kind, **{"people-who": who, "people-before": "999"})
            assert text(shown["people-deeds"]).count("bob logged in") == 1, who
    assert b"canary" not in b"".join(bob.heard)


async def test_an_analyst_changes_nobody(bob: Researcher, place: Place) -> None:
    before = place.accounts.everybody()
    for button in ("people-invite", "people-owner", "people-analyst", "people-remove"):
        shown = await bob.on(button, "click", **{"people-account": "ada", "people-role": "owner", "people-sure": True})
        assert "Only owners may do this" in text(shown["note"])
    assert [(one.name, one.role) for one in before] == [(one.name, one.role) for one in place.accounts.everybody()]
    assert place.rows("invitation") == []


async def test_an_owner_lets_somebody_in_and_out(ada: Researcher, console: ASGIApp, place: Place) -> None:
    shown = await ada.on("people-invite", "click", **{"people-role": "analyst"})
    link = re.search(r"http://console\.example\.org(/welcome/[\w-]{43})", text(shown["people-link"]))
    assert link is not None
    assert "ada created an invitation analyst" in text(shown["people-deeds"])
    assert (await ada.enter("accounts"))["people-link"] == "", "it is shown once"
    async with Researcher(app=console) as eve:
        given = dict(HIDDEN.findall((await eve.send("GET", link[1])).text))
        await eve.send("POST", link[1], data={**given, "name": "eve", "password": GOOD, "again": GOOD})
        await eve.open(tab="accounts")
        shown = await ada.on("people-owner", "click", **{"people-account": "eve"})
        assert "eve is now an owner" in text(shown["note"])
        shown = await eve.enter("accounts")
        assert [words in text(shown["people"]) for words in ("ada owner", "eve you owner")] == [True, True]
        assert 'role="alert"' in (await ada.on("people-owner", "click", **{"people-account": "nobody"}))["note"]
        shown = await ada.on("people-remove", "click", **{"people-account": "eve", "people-sure": False})
        assert "tick the box" in text(shown["note"])
        shown = await ada.on("people-remove", "click", **{"people-account": "eve", "people-sure": True})
        assert "eve" not in text(shown["people"])
        assert (await eve.client.get("/", headers={"accept": "text/html"})).headers["location"] == "/login"
    for name in ("ada", None, "nobody"):
        shown = await ada.on("people-remove", "click", **{"people-account": name, "people-sure": True})
        assert re.search("only owner|Choose an account|There is no account", text(shown["note"]))
    assert [one.name for one in place.accounts.everybody()] == ["ada", "bob"]
