"""Takes the pictures of the README: the demo's chat screen with a conversation in it, on a desktop and on a phone.

    python -m docs.pictures

Needs Chromium (`make tools`). A participant of the demo is drawn until one gets the question below.
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

ROOT = Path(__file__).parents[1]
PORT = 7869
URL = f"http://127.0.0.1:{PORT}"
QUESTION = r"48 \div (2 + 6) \times 3"
MESSAGES = ("What is 48 ÷ (2 + 6) × 3, step by step?", "Are you sure? I would have multiplied first.")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SIZES: dict[str, dict[str, Any]] = {
    "page": {"viewport": {"width": 1280, "height": 800}},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "is_mobile": True,
        "has_touch": True,
    },
}


def main() -> None:
    """Serve the demo and take the pictures."""
    with serving(), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-headless-shell"), args=ARGUMENTS
        )
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
        browser.close()


@contextmanager
def serving() -> Iterator[None]:
    """The demo, served on a database of its own until the block ends."""
    with TemporaryDirectory() as folder:
        settings = {
            "PARLEY_PORT": str(PORT),
            "PARLEY_REQUESTS_PER_SECOND": "1000",
            "PARLEY_REQUEST_BURST": "10000",
            "PARLEY_SESSIONS_PER_ADDRESS_PER_HOUR": "1000",
        }
        command = [sys.executable, "-c", "from app.cli import main; main()", "demo", "--no-browser"]
        server = subprocess.Popen(command, cwd=folder, env={**os.environ, **settings, "PYTHONPATH": str(ROOT)})
        try:
            for _ in range(300):
                try:
                    urllib.request.urlopen(f"{URL}/healthz", timeout=1)
                    break
                except OSError:
                    time.sleep(0.1)
            yield
        finally:
            server.terminate()
            server.wait()


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
    """What the participant API answers."""
    answer = request.post(f"{URL}/api/{route}", data={**body, "view": "screen"})
    return dict(json.loads(answer.text()))


def converse(page: Page) -> None:
    """Say the messages, each after the reply to the one before."""
    for number, message in enumerate(MESSAGES, 1):
        page.locator("#box textarea").fill(message)
        page.locator("#send").click()
        page.locator("#chat .bot").nth(number - 1).wait_for()
        page.wait_for_timeout(4000)


if __name__ == "__main__":
    main()
