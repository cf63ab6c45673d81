"""The room Data, as a researcher uses it: choices, what an export would hold, a zip that is made and fetched."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import httpx2
import pytest
from sqlalchemy import select, update
from starlette.types import ASGIApp, Receive, Scope, Send

from app.bots.simulate import START_US
from app.clock import VirtualClock
from app.runtime import Runtime
from app.settings import Settings
from app.web.console.desk import VISITOR, Desk
from app.web.console.server import build_app
from app.web.console.visitor import Visitor
from storage import tables
from storage.engine import Database, open_database
from storage.exports.offering import PREVIEW
from storage.participants import Participants, Person
from tests.fakes.accounts import Witnessed
from tests.fakes.databases import fill
from tests.fakes.researcher import Researcher
from tests.fakes.served import SECRET
from tests.fakes.sessions import study

pytestmark = pytest.mark.anyio
CANARY = "5f3a0c6e9d1b2a7c-canary"
ANSWERS = "full_study/user_answers.csv"
FILTERED = "full_study/user_answers_filtered.csv"
LINK = re.compile(r'href="(/download/[^"]+)"')


@dataclass
class Console:
    """A console in which everybody is the same visitor, without the gate."""

    app: ASGIApp
    desk: Desk
    did: list[tuple[str, str, str]]
    visitor: Visitor = field(default_factory=lambda: Visitor("ann", "analyst"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[VISITOR] = self.visitor
        await self.app(scope, receive, send)


@pytest.fixture(scope="module")
async def console(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Console]:
    database = open_database(f"sqlite:///{tmp_path_factory.mktemp('room') / 'parley.db'}")
    await fill(database, ["chatbench"], 4, "1")
    await arrive(database)
    clock = VirtualClock(START_US)
    accounts = Witnessed(database, clock.now_us)
    desk = Desk(Settings(), database, SECRET, clock, accounts)
    yield Console(build_app(desk), desk, accounts.told)
    desk.downloads.close()
    desk.log.close()
    database.dispose()


async def arrive(database: Database) -> None:
    """Somebody whom a recruiter calls by a telling id comes, and the first of the bots is excluded."""
    runtime = Runtime(database, Settings(), VirtualClock(START_US))
    identity = Participants(database, SECRET).entry("chatbench", Person("prolific", CANARY))
    await runtime.enrol(study("chatbench"), origin="person", seed="ann", identity=identity)
    await runtime.close()
    t = tables.sessions.c
    with database.begin() as connection:
        first = connection.execute(select(t.stream).order_by(t.ordinal).limit(1)).scalar()
        connection.execute(update(tables.seats).values(language="en"))
        connection.execute(update(tables.seats).where(tables.seats.c.stream == first).values(excluded="<b>a bot</b>"))


@pytest.fixture
async def researcher(console: Console) -> AsyncIterator[Researcher]:
    async with Researcher("http://console") as researcher:
        await researcher.client.aclose()
        transport = httpx2.ASGITransport(app=console)
        researcher.client = httpx2.AsyncClient(transport=transport, base_url="http://console", timeout=60)
        await researcher.open(study="chatbench", tab="data")
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


def text(shown: Any) -> str:
    """What stands there, without tags."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", shown)).split())


async def test_the_room_offers_what_there_is_and_shows_what_is_meant_first(researcher: Researcher) -> None:
    shown = await researcher.enter("data", study="chatbench")
    assert shown["data-origin"]["choices"] == [["People", "person"], ["Simulated", "bot"]]
    assert shown["data-schema"]["choices"] == [["ChatBench (chatbench)", "chatbench"]]
    assert ["condition=answer-first", "condition=answer-first"] in shown["data-where"]["choices"]
    assert shown["data-language"]["choices"] == [["any", ""], ["en", "en"]]
    assert shown["data-file"]["value"] == ANSWERS
    assert "No row of full_study/user_answers.csv" in text(shown["data-preview"])
    assert "1 sessions in the export" in text(shown["data-outlook"])


async def test_a_filter_changes_what_is_shown(researcher: Researcher) -> None:
    shown = await researcher.on("data-origin", "input", **BOTS)
    told = text(shown["data-outlook"])
    assert "3 sessions in the export 1 left out of 4" in told
    assert "excluded by a researcher 1" in told
    assert "<b>a bot</b>" in told, "a reason is shown as it was written, as text"
    assert "filtered: counted when it is made" in told
    assert shown["data-preview"].count("<tr>") == 1 + PREVIEW
    shown = await researcher.on("data-excluded", "input", **BOTS | {"data-excluded": True})
    assert "4 sessions in the export 0 left out of 4" in text(shown["data-outlook"])
    shown = await researcher.on("data-since", "blur", **BOTS | {"data-since": "2030-01-01"})
    assert "begun earlier 3" in text(shown["data-outlook"])
    assert "No row" in text(shown["data-preview"])
    shown = await researcher.on("data-file", "input", **BOTS | {"data-file": FILTERED})
    assert FILTERED in text(shown["data-preview"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"data-since": "soon"}, "write 2026-01-31"),
        ({"data-where": ["condition=x", 7]}, "no session of 'chatbench' has condition=x"),
        ({"data-where": "condition=x", "data-language": "xx"}, "nobody took 'chatbench' in 'xx'"),
        ({"study": "other"}, "no session of a study 'other'"),
        ({"study": {"a": 1}, "data-origin": [], "data-schema": None}, "no schema is called ''"),
    ],
)
async def test_what_a_browser_must_not_send_is_told_and_makes_nothing(
    researcher: Researcher, console: Console, given: dict[str, Any], said: str
) -> None:
    researcher.page = uuid4().hex
    for component, kind in (("data-origin", "input"), ("data-make", "click")):
        shown = await researcher.on(component, kind, **BOTS | given)
        assert said in html.unescape(text(shown["note"]))
    assert console.desk.downloads.job(console.visitor) is None


async def test_a_zip_is_made_fetched_and_written_down_and_holds_no_identity(
    researcher: Researcher, console: Console
) -> None:
    for origin in ("bot", "person"):
        asked = BOTS | {"data-origin": origin, "data-excluded": True, "data-complete": origin == "bot"}
        shown = await researcher.on("data-make", "click", **asked)
        while (
            "so far" in text(shown["data-links"])
            or "looking" in shown["data-links"]
            or "packing" in shown["data-links"]
        ):
            await asyncio.sleep(0.05)
            shown = await tick(researcher)
        (link, *_) = LINK.findall(shown["data-links"])
        answer = await researcher.send("GET", html.unescape(link))
        assert answer.status_code == 200
        assert sha256(answer.content).hexdigest() in shown["data-links"]
        with ZipFile(BytesIO(answer.content)) as packed:
            assert {"README.md", ANSWERS} <= set(packed.namelist())
            parts = [answer.content, *(packed.read(name) for name in packed.namelist())]
            assert b"complete only" in packed.read("README.md") or origin == "person"
        assert not any(CANARY.encode() in part for part in parts)
    assert console.did == [
        ("ann", "exported", "chatbench: chatbench, bot; complete only; with excluded sessions"),
        ("ann", "exported", "chatbench: chatbench, person; with excluded sessions"),
    ]
    assert not any(CANARY.encode() in heard for heard in researcher.heard)
    console.visitor = Visitor("bob", "analyst")
    assert (await researcher.send("GET", html.unescape(link))).status_code == 403
    console.visitor = Visitor("ann", "analyst")


async def tick(researcher: Researcher) -> Any:
    """The timer of the room: the event whose outputs are the links and which nobody clicks."""
    event = next(
        event
        for event in researcher.events
        if all(kind == "tick" for _, kind in event.of) and "data-links" in map(researcher._name, event.outputs)
    )
    return await researcher.fire(event, {})


async def test_a_study_without_sessions_says_what_to_do(researcher: Researcher) -> None:
    researcher.page = uuid4().hex
    shown = await researcher.enter("data", study="nobody")
    assert any("nothing to export yet" in str(value) for value in shown.values())


def test_the_templates_are_of_this_room() -> None:
    """Every template that is there is used."""
    folder = Path(__file__).parents[2] / "app/web/console"
    source = (folder / "rooms/data.py").read_text(encoding="utf-8")
    assert all(path.name in source for path in (folder / "templates").glob("data_*.j2"))
