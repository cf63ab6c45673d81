"""Takes the pictures of the README and of the gallery.

    python -m docs.pictures

Those of the README are the demo's chat screen with a conversation in it, on a desktop and on a phone: a participant of
the demo is drawn until one gets the question below. The gallery has a screen of each study that comes with Parley.
Needs Chromium (`make tools`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import APIRequestContext, Browser, Page, sync_playwright

from docs.images import keep
from docs.studies import entries
from tests.browser.visitor import COMPARED, REPLIED, Visitor
from tests.browser.waiting import until

ROOT = Path(__file__).parents[1]
PORT = 7869
URL = f"http://127.0.0.1:{PORT}"
QUESTION = r"48 \div (2 + 6) \times 3"
SAID = "Which step would you begin with, and why?"
# A reply, or the question whether a tool may be used for it.
ANSWERED = f"() => document.querySelector('.approval') || ({REPLIED})()"
MOST_SCREENS = 60
MOST_PEOPLE = 12
MESSAGE = "What is 48 ÷ (2 + 6) × 3, step by step?"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
GALLERY: Any = {"width": 1200, "height": 760}
SIZES: dict[str, dict[str, Any]] = {
    "page": {"viewport": {"width": 1280, "height": 800}},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "is_mobile": True,
        "has_touch": True,
    },
}


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-headless-shell"), args=ARGUMENTS
        )
        with serving("demo", "--no-browser"):
            readme(browser)
        studies = {entry["study"]: entry["step"] for entry in entries()}
        with serving("serve", *studies):
            for study, step in studies.items():
                keep(shown(browser, study, step), f"gallery-{study}")
        browser.close()


def readme(browser: Browser) -> None:
    session = found(browser)
    for name, size in SIZES.items():
        context = browser.new_context(color_scheme="light", storage_state=session, **size)
        page = context.new_page()
        page.goto(URL)
        page.locator("#box textarea").wait_for()
        if name == "page":
            converse(page)
        page.wait_for_timeout(1500)
        page.mouse.move(2, 2)
        keep(page.screenshot(), name)
        context.close()


def shown(browser: Browser, study: str, step: str) -> bytes:
    """The screen of a step, with a first message where there is a conversation; for participants who do not come to it
    others are drawn."""
    for _ in range(MOST_PEOPLE):
        context = browser.new_context(color_scheme="light", reduced_motion="reduce", viewport=GALLERY)
        visitor = Visitor(context.new_page(), URL)
        visitor.arrive(study)
        if come_to(visitor, context.request, step):
            if visitor.comparing:
                visitor.ask_both(SAID)
                until(visitor.page, COMPARED)
            elif visitor.chatting:
                visitor.say(SAID)
                until(visitor.page, ANSWERED)
            visitor.page.mouse.move(2, 2)
            visitor.page.wait_for_timeout(1500)
            return visitor.page.screenshot()
        context.close()
    raise SystemExit(f"no participant of {study} came to a step {step}")


def come_to(visitor: Visitor, request: APIRequestContext, step: str) -> bool:
    """Go on until a step's screen; whether it came before the end."""
    for _ in range(MOST_SCREENS):
        screen = ask(request, "look", {})["screen"]
        if screen["path"].rpartition("/")[2] == step:
            return True
        if screen["ended"]:
            return False
        visitor.next_screen()
    raise AssertionError(f"{MOST_SCREENS} screens without an end")


@contextmanager
def serving(*words: str) -> Iterator[None]:
    """A command that serves studies, on a database of its own until the block ends."""
    with TemporaryDirectory() as folder:
        settings = {
            "PARLEY_PORT": str(PORT),
            "PARLEY_REQUESTS_PER_SECOND": "1000",
            "PARLEY_REQUEST_BURST": "10000",
            "PARLEY_SESSIONS_PER_ADDRESS_PER_HOUR": "1000",
        }
        command = [sys.executable, "-c", "from app.cli import main; main()", *words]
        server = subprocess.Popen(command, cwd=folder, env={**os.environ, **settings, "PYTHONPATH": str(ROOT)})
        try:
            while not _answers():
                if server.poll() is not None:
                    raise SystemExit(f"parley {' '.join(words)} ended")
                time.sleep(0.1)
            yield
        finally:
            server.terminate()
            server.wait()


def _answers() -> bool:
    try:
        with urllib.request.urlopen(f"{URL}/healthz", timeout=1):
            return True
    except OSError:
        return False


def found(browser: Browser) -> Any:
    """The cookie of a session that stands at the question of the picture."""
    for _ in range(500):
        context = browser.new_context()
        ticket = re.search(r'name="ticket" value="([^"]+)"', context.request.get(f"{URL}/s/demo").text())
        assert ticket is not None
        context.request.post(f"{URL}/s/demo", form={"ticket": ticket[1]})
        if walk(context.request):
            return context.storage_state()
        context.close()
    raise SystemExit(f"no participant was given the question {QUESTION}")


def walk(request: APIRequestContext) -> bool:
    """Go on with a session until its first chat; whether that is about the question of the picture."""
    for number in count():
        screen = ask(request, "look", {})["screen"]
        panel = screen["panel"]
        if panel["chat"]:
            asked = next((block["text"] for block in panel["blocks"] if block["block"] == "problem"), "")
            return QUESTION in asked and "same question" not in panel["blocks"][0]["text"]
        values = {f["name"]: next(iter(f["options"])) if "options" in f else "on" for f in panel["fields"]}
        click = {"kind": "submit", "path": screen["path"], "seen": screen["seen"], "key": f"picture-{number}"}
        ask(request, "act", {**click, "values": values})
    raise AssertionError


def ask(request: APIRequestContext, route: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = request.post(f"{URL}/api/{route}", data={**body, "view": "screen"})
    return dict(json.loads(answer.text()))


def converse(page: Page) -> None:
    """Send the message, and wait for the reply."""
    page.locator("#box textarea").fill(MESSAGE)
    page.locator("#send").click()
    page.locator("#chat .bot").wait_for()
    page.wait_for_timeout(4000)


if __name__ == "__main__":
    main()
