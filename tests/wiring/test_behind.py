"""A tab that shows a session which its browser has left for another: nothing that is done there touches the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.web.participant.api import ANOTHERS
from storage import tables
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Served
from tests.wiring.sound import logs_of, rows

pytestmark = pytest.mark.anyio
PRIVATE = "zqprivateqz"
Tabs = tuple[HttpBot, HttpBot]


@pytest.fixture
async def tabs(served: Served) -> AsyncIterator[Tabs]:
    """Two who are at the same place of the same study, of whom the first goes on with the second one's cookie, as where
    a tab stays open while the browser's next user begins in another."""
    async with HttpBot(served.url, "one") as before, HttpBot(served.url, "one") as now:
        for tab in (before, now):
            await tab.arrive("short")
            await tab.until(path="with_ai")
        assert (before.screen.path, before.screen.seen) == (now.screen.path, now.screen.seen)
        before.client.cookies = now.client.cookies
        yield before, now


def kept(served: Served) -> list[Any]:
    """All that is kept of anybody."""
    of_sessions = (tables.drafts, tables.telemetry, tables.seats)
    return [logs_of(served.database), *(rows(served.database, one) for one in of_sessions)]


@pytest.mark.parametrize("kind", ["say", "submit", "withdraw"])
async def test_a_click_there_is_refused_and_the_tab_told_where_the_browser_is_now(
    served: Served, tabs: Tabs, kind: str
) -> None:
    before, now = tabs
    act, stood = before.intend(kind, {"text": PRIVATE}), kept(served)
    answer = await before.redo(act)
    assert (answer.status, answer.note) == (200, ANOTHERS)
    assert kept(served) == stood
    assert answer.screen == now.screen
    assert not (await before.do("say", {"text": "From here on it is this one's"})).note


async def test_the_page_paints_the_other_session_whole(tabs: Tabs) -> None:
    before, _ = tabs
    body = before.intend("say", {"text": PRIVATE}).body | {"view": "page"}
    shown = (await before.send("POST", "/api/look", {})).json()["shown"]
    painted = (await before.send("POST", "/api/act", {**body, "shown": shown})).json()
    assert painted["refused"]
    assert {"head", "left", "side", "box"} <= painted["updates"].keys()
    assert painted["updates"]["box"]["value"] == ""


async def test_what_is_typed_there_and_what_it_tells_of_itself_is_dropped(served: Served, tabs: Tabs) -> None:
    before, now = tabs
    at = {"path": before.screen.path, "whose": before.intend("say", {}).whose}
    stood = kept(served)
    drafted = await before.send("POST", "/api/draft", {**at, "values": {"text": PRIVATE}})
    assert drafted.json() == {"saved": False}
    record = {"kind": "here", "path": at["path"], "ago_ms": 0}
    told = {"key": "1" * 32, "whose": at["whose"], "records": [record]}
    assert (await before.send("POST", "/api/telemetry", told)).status_code == 204
    own = {"path": at["path"], "whose": now.intend("say", {}).whose, "values": {"text": "mine"}}
    assert (await now.send("POST", "/api/draft", own)).json() == {"saved": True}
    assert kept(served)[0] == stood[0]
    assert PRIVATE not in repr(kept(served))
    assert kept(served)[2] == stood[2]
