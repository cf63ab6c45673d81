"""The tab Export, as a researcher uses it: choices, what an export would hold, a zip that is made and fetched."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator
from hashlib import sha256
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from sqlalchemy import select, update

from app.bots.simulate import START_US
from app.clock import VirtualClock
from storage import tables
from storage.db.engine import open_database
from tests.fakes.console import CANARY, Room, begin_as_canary, room
from tests.fakes.databases import fill
from tests.fakes.researcher import Researcher, value

pytestmark = pytest.mark.anyio
ANSWERS = "full_study/user_answers.csv"
LINK = re.compile(r'href="(download/[^"]+)"')


@pytest.fixture(scope="module")
async def console(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Room]:
    """The first of the bots is excluded, and somebody has come whom a recruiter calls by a telling id."""
    folder = tmp_path_factory.mktemp("room")
    database = open_database(f"sqlite:///{folder / 'parley.db'}")
    await fill(database, ["chatbench"], 4, "1")
    await begin_as_canary(database, "chatbench")
    t = tables.sessions.c
    with database.begin() as connection:
        first = connection.execute(select(t.stream).order_by(t.ordinal).limit(1)).scalar()
        connection.execute(update(tables.seats).values(language="en"))
        connection.execute(update(tables.seats).where(tables.seats.c.stream == first).values(excluded="<b>a bot</b>"))
    with room(folder, database, VirtualClock(START_US)) as made:
        made.as_("analyst", "ann")
        yield made
    database.dispose()


@pytest.fixture
async def researcher(console: Room) -> AsyncIterator[Researcher]:
    async with Researcher(app=console) as researcher:
        await researcher.open(study="chatbench", tab="export")
        yield researcher


BOTS = {
    "study": "chatbench",
    "data-origin": "bot",
    "data-schema": "chatbench",
    "data-where": [],
    "data-language": "",
    "data-since": "",
    "data-until": "",
    "data-complete": False,
    "data-excluded": False,
}


async def test_a_zip_is_made_fetched_and_written_down_and_holds_no_identity(
    researcher: Researcher, console: Room
) -> None:
    for origin in ("bot", "person"):
        asked = BOTS | {"data-origin": origin, "data-excluded": True, "data-complete": origin == "bot"}
        shown = await researcher.on("data-make", "click", **asked)
        while "data-running" in value(shown["data-work"]):
            await asyncio.sleep(0.05)
            shown = await tick(researcher)
        (link, *_) = LINK.findall(shown["data-links"])
        assert link in LINK.findall(value(shown["data-work"])), "the card that made it has it too"
        answer = await researcher.send("GET", f"/{html.unescape(link)}")
        assert answer.status_code == 200
        assert sha256(answer.content).hexdigest() in shown["data-links"]
        with ZipFile(BytesIO(answer.content)) as packed:
            assert {"README.md", ANSWERS} <= set(packed.namelist())
            parts = [answer.content, *(packed.read(name) for name in packed.namelist())]
            assert b"completed sessions only" in packed.read("README.md") or origin == "person"
        assert not any(CANARY.encode() in part for part in parts)
    assert console.did == [
        ("ann", "exported", "chatbench: chatbench, bot; completed sessions only; with excluded sessions"),
        ("ann", "exported", "chatbench: chatbench, person; with excluded sessions"),
    ]
    assert not any(CANARY.encode() in heard for heard in researcher.heard)
    console.as_("analyst", "bob")
    assert (await researcher.send("GET", f"/{html.unescape(link)}")).status_code == 403
    console.as_("analyst", "ann")


async def tick(researcher: Researcher) -> Any:
    """The timer of the room: the event whose outputs are the links and which nobody clicks."""
    event = next(
        event
        for event in researcher.events
        if all(kind == "tick" for _, kind in event.of) and "data-links" in map(researcher._name, event.outputs)
    )
    return await researcher.fire(event, {})
