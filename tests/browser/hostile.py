"""Hostile texts put where people and models can put them, and what is looked for where they are shown."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Error, Page
from starlette.responses import Response

from app.backends.base import Backend, Delta, Request, StreamEnd, TextDelta
from app.clock import SystemClock
from app.config.settings import Settings
from app.session.service import Sessions, SessionService
from app.studies.loader import load_study
from app.web.participant.session_cookie import SessionCookie
from experiments.study.fields import ShortText
from problems.text import clean
from storage.db.engine import Database, open_database
from tests.browser.waiting import until
from tests.fakes.hostile import ALL, Payload
from tests.fakes.hostile.bombs import MESSAGE
from tests.fakes.served import SECRET
from tests.fakes.studies import write

Made = TypeVar("Made")
# How many texts one session has: a chat has at most 100 messages, and all are to be seen in one window.
A_CHAT = 35
SHORT, NOTE = 500, 2_000
PIECES, PAUSE_S = 4, 0.07
HARMS = (Path(__file__).parent / "harms.js").read_text(encoding="utf-8")
LONGEST = """from => new Promise((done) => {
  let longest = 0;
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) if (task.startTime >= from) longest = Math.max(longest, task.duration);
  }).observe({ type: "longtask", buffered: true });
  setTimeout(() => done(longest), 300);
})"""


class Echo(Backend):
    """A model that says what it was told, or the whole of a text of which it was told the beginning; the model `slow`
    says it in pieces, which the page paints one after another."""

    WHOLE = {one.text[:MESSAGE].strip(): one.text for one in ALL}

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """The last message."""
        told = request.messages[-1].text
        said = self.WHOLE.get(told, told)
        slow = request.model == "slow"
        size = max(1, len(said) // PIECES) if slow else len(said)
        for start in range(0, len(said), size):
            yield TextDelta(said[start : start + size])
            await asyncio.sleep(PAUSE_S if slow else 0)
        yield StreamEnd("stop", request.model, 1, 1)


def study(folder: Path, name: str, model: str) -> Path:
    """Free answers, the same shown again, and a chat with a model that says what it is told."""
    names = [f"f{number}" for number in range(A_CHAT)]
    asked = [{"type": "short_text", "name": one, "text": f"Words {one}", "required": False} for one in names]
    again = [
        {"type": "short_text", "name": one, "text": f"You wrote {{{{about.{one}}}}}", "required": False}
        for one in names
    ]
    talk = {"step": "chat", "id": "talk", "model": "echo", "max_messages": 100}
    both = {"step": "compare", "id": "both", "max_messages": 100, "vote_when": "at_end"}
    flow = [
        {"step": "survey", "id": "about", "title": "About you", "questions": asked},
        {"step": "survey", "id": "again", "title": "Once more", "questions": again},
        {"step": "info", "id": "told", "text": "\n\n".join(f"{{{{about.{one}}}}}" for one in names)},
        {
            "each": "question",
            "of": "questions",
            "take": 1,
            "flow": [talk, {"step": "rate_turns", "id": "rated", "chat": "talk"}],
        },
        both,
        {"step": "finish", "code": "DONE"},
    ]
    models = {name: {"backend": "echo", "model": model} for name in ("echo", "other")}
    problems = {"questions": {"source": "chatbench"}}
    return write(folder, {"study": name, "title": "Words", "models": models, "problems": problems, "flow": flow})


def squeezed(text: str) -> str:
    """Without its space, of which a page shows less."""
    return "".join(text.split())


@dataclass(frozen=True)
class Session:
    """Somebody who wrote hostile texts."""

    stream: str
    texts: tuple[Payload, ...]

    @property
    def words(self) -> list[str]:
        """The texts, as they are stored."""
        return [clean(one.text).strip() for one in self.texts]

    def sit_down(self, context: BrowserContext, url: str) -> None:
        """Let a browser be theirs."""
        response = Response()
        SessionCookie(SECRET, secure=False).write(response, self.stream)
        value = response.headers["set-cookie"].partition("=")[2].partition(";")[0].strip('"')
        context.add_cookies([{"name": "parley", "value": value, "url": url}])


def seeded(settings: Settings, path: Path, groups: Sequence[Sequence[Payload]], until_step: str) -> list[Session]:
    """A session for each group of texts, which stands at a step; the database is as its server would leave it."""

    async def play() -> list[Session]:
        database = open_database(settings.database_url)
        runtime = SessionService(database, settings, SystemClock())
        runtime.prepare(load_study(str(path)))
        found = [await _played(runtime, path, tuple(group), until_step) for group in groups]
        await runtime.close()
        database.dispose()
        return found

    return aside(play())


def aside(work: Coroutine[Any, Any, Made]) -> Made:
    """Run something to its end in another thread, as Playwright's own loop runs in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def _played(service: SessionService, path: Path, texts: tuple[Payload, ...], until_step: str) -> Session:
    session = Session((await service.enrol(load_study(str(path)), origin="person")).stream, texts)
    words = session.words
    live = await service.get(session.stream)
    assert live is not None
    while until_step not in live.screen.path:
        if "talk" in live.screen.path or "both" in live.screen.path:
            await _said(service, session)
            live = await service.get(session.stream)
            assert live is not None
        asked = live.screen.panel.fields
        given = {
            field.name: words[int(field.name[1:])][:SHORT]
            for field in asked[: len(words)]
            if isinstance(field, ShortText)
        }
        given |= {field.name: "3" for field in asked if not isinstance(field, ShortText)}
        seen = live.screen
        live = await service.participant(session.stream, "submit", seen.path, given, seen=seen.seen, key=seen.path)
        assert live.screen.path != seen.path, live.note
    if until_step in ("talk", "both"):
        await _said(service, session)
    return session


async def _said(service: SessionService, session: Session) -> None:
    """Say each of the session's texts."""
    for number, text in enumerate(session.words):
        live = await service.get(session.stream)
        assert live is not None
        seen, said = live.screen, {"text": text[:MESSAGE]}
        await service.participant(session.stream, "say", seen.path, said, seen=seen.seen, key=f"{seen.path} {number}")
        await service.settled(session.stream)


def excluded(database: Database, session: Session) -> None:
    """What researchers have said of a session: each of its texts as a note, and one as why it is excluded."""

    async def say() -> None:
        sessions = Sessions(database, SystemClock())
        for text in session.words:
            await sessions.remark(session.stream, "noted", text[:NOTE], "Ada")
        await sessions.remark(session.stream, "excluded", session.words[0][:NOTE], "Ada")
        await sessions.close()

    aside(say())


class Watched:
    """A page, and whatever happened on it that no text may bring about."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.harm: list[str] = []
        page.on("console", lambda said: self._hear("said", said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self._hear("failed", str(error)))
        page.on("dialog", lambda dialog: (self._hear("dialog", dialog.message), dialog.dismiss()))
        page.on("popup", lambda popup: self._hear("opened", popup.url))
        page.on("download", lambda download: self._hear("download", download.url))
        page.on("crash", lambda _: self._hear("crashed", ""))
        page.on("request", lambda request: self._asked(request.url, url))
        page.on("framenavigated", lambda frame: self._asked(frame.url, url))

    def _hear(self, what: str, words: str) -> None:
        self.harm.append(f"{what}: {words[:300]}")

    def _asked(self, address: str, url: str) -> None:
        if urlsplit(address).scheme not in ("data", "blob", "about") and not address.startswith(f"{url}/"):
            self._hear("asked", address)

    def harms(self, *places: str) -> list[str]:
        """All harm so far; within these places no element stands that is not one of Markdown or of a formula."""
        return [*self.harm, *self.page.evaluate(HARMS, list(places))]

    def longest_ms(self, act: Callable[[], None], over: str) -> float:
        """How long at most the page did not listen, from an act until something is true; endless if it crashed."""
        begun = self.page.evaluate("performance.now()")
        try:
            act()
            until(self.page, over)
            return float(self.page.evaluate(LONGEST, begun))
        except Error as error:
            if "crash" not in str(error):
                raise
            return math.inf
