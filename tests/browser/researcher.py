"""A researcher at the console in a browser: what they see and do, said as one would tell somebody to try it out."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit
from zipfile import ZipFile

from playwright.sync_api import ConsoleMessage, Locator, Page, Request, expect

from app.web.console.event_validation import EVENTS
from tests.browser.waiting import quiet
from tests.fakes.accounts import ada_and_bob
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Process

LONG_MS = 180_000
REST_MS = 100
# The numbers of the events of timers.
TIMERS = """(window.gradio_config?.dependencies ?? [])
  .filter((event) => event.targets.some(([, on]) => on === "tick")).map((event) => event.id)"""


class AtConsole:
    """Works with the mouse. `at_each` is called, with a name, with each screen that is worth a look."""

    def __init__(self, page: Page, url: str, at_each: Callable[[Page, str], None] = lambda page, name: None) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        """What the browser's console said of errors."""
        self._at_each = at_each
        page.set_default_timeout(LONG_MS)
        page.emulate_media(reduced_motion="reduce")  # what moves is painted again and again
        page.on("console", self._console)
        page.on("filechooser", lambda _: None)  # from the start, as a dialog that is opened before this is lost
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self._unanswered: dict[Request, int] = {}
        self._answered: set[int] = set()
        page.on("request", self._asked)
        for over in ("requestfinished", "requestfailed"):
            page.on(over, self._over)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    def _asked(self, sent: Request) -> None:
        if urlsplit(sent.url).path.endswith(EVENTS):
            self._unanswered[sent] = (sent.post_data_json or {}).get("fn_index", -1)

    def _over(self, sent: Request) -> None:
        if sent in self._unanswered:
            self._answered.add(self._unanswered.pop(sent))

    def quiet(self) -> None:
        """Wait until every event of the page was answered, those of timers once, and what came of it is painted.

        On a busy machine Monitoring asks again before the last answer is painted.
        """
        give_up_s = time.monotonic() + LONG_MS / 1000
        timers = {*self.page.evaluate(TIMERS)}
        self._answered.clear()
        while True:
            quiet(self.page)
            if (self._answered & timers).issuperset(self._unanswered.values()):
                return
            assert time.monotonic() < give_up_s, self._unanswered
            self.page.wait_for_timeout(REST_MS)

    def log_in(self, name: str, password: str) -> None:
        """Open the console, be asked who one is, say so."""
        self.page.goto(self.url)
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Log in").click()
        expect(self.at("who")).not_to_be_empty(timeout=LONG_MS)
        self.quiet()  # the tabs are shut until they are painted

    def open(self, room: str) -> None:
        """Open a tab; in a narrow window the last ones are in a menu."""
        tab = self.page.get_by_role("tab", name=room, exact=True)
        more = self.page.get_by_role("button", name="More tabs").first
        expect(tab.or_(more).first).to_be_visible(timeout=LONG_MS)
        if not tab.is_visible():
            more.click()
            tab = self.page.get_by_role("button", name=room, exact=True)
        tab.click()

    def at(self, elem_id: str) -> Locator:
        """A part of the page."""
        return self.page.locator(f"#{elem_id}")

    def press(self, elem_id: str) -> None:
        """Press a button."""
        self.page.locator(f"button#{elem_id}, #{elem_id} button").first.click()

    def choose(self, elem_id: str, option: str) -> None:
        """Choose in a dropdown."""
        self.at(elem_id).locator("input").first.click()
        self.page.get_by_role("option", name=option).first.click()

    def write(self, elem_id: str, text: str) -> None:
        """Fill in a field."""
        self.at(elem_id).locator("input, textarea").first.fill(text)

    def rewrite(self, elem_id: str, text: str) -> None:
        """Replace all that stands in an editor."""
        self.at(elem_id).locator(".cm-content").click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)

    def reads(self, elem_id: str, words: str) -> None:
        """Wait until a part of the page says something."""
        expect(self.at(elem_id)).to_contain_text(words, timeout=LONG_MS)

    def look(self, name: str) -> None:
        """Look at what is on the screen."""
        self._at_each(self.page, name)

    def download(self) -> ZipFile:
        """The newest export that was made, by its link."""
        link = self.at("data-links").get_by_role("link").first
        expect(link).to_be_visible(timeout=LONG_MS)
        with self.page.expect_download() as download:
            link.click()
        return ZipFile(BytesIO(Path(download.value.path()).read_bytes()))


@contextmanager
def empty_lab(folder: Path, env: Mapping[str, str] | None = None) -> Iterator[tuple[Process, Process]]:
    """A participants' server that serves whatever is opened, and a console, over one empty database."""
    participants = Process(folder, (), {**(env or {})})
    console = Process(folder, (), {**(env or {}), "PARLEY_PUBLIC_URL": participants.url}, command="console")
    with ada_and_bob(participants.database_url):
        participants.start()
        console.start()
        yield participants, console
        console.stop()
        participants.stop()
    assert "Traceback" not in console.log + participants.log


def come(url: str, study: str, people: int, leaves: int, within_s: float = 0) -> threading.Thread:
    """Simulated participants by Prolific's links, one after another; one in so many leaves on the way."""

    async def one(number: int) -> None:
        await asyncio.sleep(random.Random(number).uniform(0, within_s))
        async with HttpBot(url, f"person-{number}") as bot:
            await bot.arrive(study, f"?PROLIFIC_PID={number:024d}&STUDY_ID=s&SESSION_ID={number:024x}")
            if number % leaves == 0:
                for _ in range(3):
                    await bot.step()
            else:
                await bot.finish()

    async def everybody() -> None:
        await asyncio.gather(*map(one, range(people)))

    thread = threading.Thread(target=lambda: asyncio.run(everybody()), daemon=True)
    thread.start()
    return thread
