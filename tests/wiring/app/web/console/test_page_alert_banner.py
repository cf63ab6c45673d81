"""The alerts above the console's tabs: whoever is logged in sees them on every page, until they are seen or over."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.clock import VirtualClock
from app.web.console.page import STALE_S
from storage.db.engine import open_database
from storage.registers.alerts import Alert, AlertKey, change_alerts, open_alerts
from storage.registers.studies import Studies
from tests.fakes.console import Room, room
from tests.fakes.researcher import Researcher, text, visible
from tests.fakes.sessions import study

pytestmark = pytest.mark.anyio
NOW_US = 10**15
MODELS = AlertKey("models", "demo", "person", "tutor-a")
FAILING = {"calls": 4, "failed": 3, "reasons": {"status_503": 3}}


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Room]:
    database = open_database(f"sqlite:///{tmp_path}/parley.db")
    Studies(database).register(study("demo"))
    with room(tmp_path, database, VirtualClock(NOW_US)) as made:
        yield made
    database.dispose()


@pytest.fixture
async def ada(console: Room) -> AsyncIterator[Researcher]:
    async with Researcher(app=console) as researcher:
        yield researcher


def alert(console: Room, key: AlertKey = MODELS, **more: object) -> int:
    new = Alert(key, FAILING, NOW_US, NOW_US, NOW_US, **more)  # type: ignore[arg-type]
    _, (made,) = change_alerts(console.desk.database, lambda _: [new])
    return made.id


async def test_no_alert_no_banner(ada: Researcher) -> None:
    assert not visible((await ada.open(study="demo"))["alerts"])


async def test_an_alert_is_on_every_page_with_a_link_to_what_it_is_about(ada: Researcher, console: Room) -> None:
    alert(console, undelivered={"webhook": "it answered 404"})
    for tab in ("studies", "accounts"):
        painted = await ada.open(study="demo", tab=tab)
        assert visible(painted["alerts"])
        shown = painted["alerts-list"]
        assert re.findall(r'data-alert="(\w+)"', shown) == ["models"]
        assert 'href="./?study=demo&amp;tab=monitoring"' in shown
        words = ("tutor-a", "3 of 4", "status_503", "2001-09-09", "404")
        assert [word for word in words if word not in text(shown)] == []


async def test_a_call_for_help_is_gone_as_soon_as_nobody_waits_for_an_answer(ada: Researcher, console: Room) -> None:
    alert(console, AlertKey("help", "demo", "person", "1"))
    assert not visible((await ada.open(study="demo"))["alerts"])


async def test_who_marks_alerts_as_seen_marks_those_that_were_shown(ada: Researcher, console: Room) -> None:
    first = alert(console)
    painted = await ada.open(study="demo")
    assert painted["alerts-shown"] == str(first)
    second = alert(
        console,
        AlertKey("models", "demo", "person", "tutor-b"),
    )
    console.as_("analyst", "ann")
    after = await ada.on("alerts-seen", "click", **{"alerts-shown": f"{first} 99999 x -1 {'9' * 30}"})
    assert (visible(after["alerts"]), after["alerts-shown"]) == (True, str(second))
    assert {one.id: one.seen_by for one in open_alerts(console.desk.database)} == {first: "ann", second: None}
    assert console.did[-1][:2] == ("ann", "marked an alert as seen")
    after = await ada.on("alerts-seen", "click", **{"alerts-shown": str(second)})
    assert not visible(after["alerts"])


async def test_the_banner_refreshes_itself_and_says_when_no_server_checks(ada: Researcher, console: Room) -> None:
    await ada.open(study="demo")
    tick = next(
        one
        for one in ada.events
        if any(kind == "tick" for _, kind in one.of) and "alerts" in [ada._name(number) for number in one.outputs]
    )
    assert not visible((await ada.fire(tick, {}))["alerts"])
    alert(console)
    fresh = (await ada.fire(tick, {}))["alerts-list"]
    console.desk.clock.advance(STALE_S + 1)  # type: ignore[attr-defined]
    stale = (await ada.fire(tick, {}))["alerts-list"]
    assert ("data-stale" in fresh, "data-stale" in stale) == (False, True)


async def test_texts_of_an_alert_are_escaped(ada: Researcher, console: Room) -> None:
    alert(console, AlertKey("models", "demo", "person", "<img src=x onerror=alert(1)>"))
    assert "<img" not in (await ada.open(study="demo"))["alerts-list"]
