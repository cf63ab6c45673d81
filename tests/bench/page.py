"""The page: how much a browser loads and how soon it can be used.

`python -m tests.bench.page`; `--times 1` is a short form. Over 10 Mbit/s with 40 ms, Chromium opens the
page of the demo study as the shipped server gives it: cold, with nothing kept, and again; and cold over a slow line.
Usable is when the script says so, in the browser's own time.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from app.web.security import FOREVER
from tests.bench import bars, servers
from tests.browser.found import chromium
from tests.browser.waiting import until
from tests.fakes.served import ticket

STUDY = "demo"
# Milliseconds, and bytes a second.
LINE = {"offline": False, "latency": 40, "downloadThroughput": 10e6 / 8, "uploadThroughput": 10e6 / 8}
SLOW = {"offline": False, "latency": 300, "downloadThroughput": 100e3, "uploadThroughput": 100e3}
# Times what the page's bytes take on the slow line.
MOST_ON_SLOW = 1.5
READY = "document.documentElement?.dataset.ready === 'yes'"
WATCH = """new MutationObserver(() => {
  if (!window.usableMs && document.documentElement?.dataset.ready === "yes") window.usableMs = performance.now();
}).observe(document, {subtree: true, childList: true, attributes: true});"""
HASHED = re.compile(r"/assets/.*-[\w-]{8}\.\w+$")
# So long without a request, and all is loaded.
QUIET_MS = 500
MOST_KIB, MOST_COLD_MS, MOST_WARM_MS = 600, 1_500, 500


@dataclass
class Load:
    """One opening of the page."""

    usable_ms: float = 0
    kept: set[str] = field(default_factory=set)
    size: int = 0
    """Bytes over the line, with headers."""
    mortal: list[str] = field(default_factory=list)
    """Hashed assets that the browser was not told to keep for ever."""

    @property
    def kib(self) -> float:
        return self.size / 1024


class Watched:
    """A page whose requests are counted."""

    def __init__(self, page: Page, line: Mapping[str, float] = LINE) -> None:
        self._page, self._load, self._open = page, Load(), set[str]()
        session: CDPSession = page.context.new_cdp_session(page)
        for event, heard in (
            ("requestWillBeSent", self._sent),
            ("requestServedFromCache", self._cached),
            ("responseReceived", self._answered),
            ("loadingFinished", self._finished),
            ("loadingFailed", self._finished),
        ):
            session.on(f"Network.{event}", heard)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", dict(line))
        page.add_init_script(WATCH)

    def open(self, url: str) -> Load:
        self._load = load = Load()
        self._open.clear()
        self._page.goto(url)
        until(self._page, READY)
        self._page.wait_for_timeout(QUIET_MS)
        while self._open:
            self._page.wait_for_timeout(QUIET_MS)
        load.usable_ms = float(self._page.evaluate("window.usableMs"))
        return load

    def _sent(self, told: dict[str, Any]) -> None:
        if told["request"]["url"].startswith("http"):
            self._open.add(told["requestId"])

    def _cached(self, told: dict[str, Any]) -> None:
        self._load.kept.add(told["requestId"])

    def _answered(self, told: dict[str, Any]) -> None:
        answer = told["response"]
        if told["requestId"] not in self._open:
            return
        if answer.get("fromDiskCache") or told["requestId"] in self._load.kept:
            self._load.kept.add(told["requestId"])
            return
        path = urlsplit(answer["url"]).path
        headers = {name.lower(): value for name, value in answer["headers"].items()}
        if HASHED.search(path) and headers.get("cache-control") != FOREVER:
            self._load.mortal.append(path)

    def _finished(self, told: dict[str, Any]) -> None:
        self._open.discard(told["requestId"])
        self._load.size += int(told.get("encodedDataLength", 0))


def opened(browser: Browser, url: str, *lines: Mapping[str, float]) -> tuple[Load, ...]:
    with browser.new_context() as context:
        context.request.post(f"{url}/s/{STUDY}", form={**ticket(STUDY)}, max_redirects=0, headers={"origin": url})
        return tuple(Watched(context.new_page(), line).open(url + "/") for line in lines)


def loads(folder: Path, where: str, times: int) -> list[tuple[Load, ...]]:
    """Each time: cold and warm over the line, and cold over a slow one."""
    with (
        servers.parley(folder, STUDY, address_rate_multiplier=1_000, sessions_per_address_per_hour=1_000) as process,
        sync_playwright() as started,
    ):
        browser = started.chromium.launch(executable_path=where, args=["--no-sandbox"])
        return [(*opened(browser, process.url, LINE, LINE), *opened(browser, process.url, SLOW)) for _ in range(times)]


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=9, help="how often it is loaded cold and warm")
    times, where = parser.parse_args(given).times, chromium()
    if where is None:
        print("The page is left out: there is no Chromium here.")
        return 0
    with TemporaryDirectory() as folder:
        colds, warms, slows = zip(*loads(Path(folder), where, times), strict=True)
    slow = statistics.median(load.usable_ms / 1e3 / (load.size / SLOW["downloadThroughput"]) for load in slows)
    cold_ms, warm_ms = (statistics.median(load.usable_ms for load in some) for some in (colds, warms))
    found: list[tuple[str, float, float]] = [
        ("cold: KiB over the line", max(load.kib for load in colds), MOST_KIB),
        ("cold: usable after, ms", cold_ms, MOST_COLD_MS),
        ("warm: usable after, ms", warm_ms, MOST_WARM_MS),
        ("slow line: usable after, times what its bytes take", slow, MOST_ON_SLOW),
        ("hashed assets that are not immutable", len(colds[0].mortal), 0),
    ]
    rows = [(what, f"{number:.2f}", f"<= {most}") for what, number, most in found]
    missed = [what for what, number, most in found if number > most]
    return bars.told(f"The page, {times} times, medians", ("what", "found", "bar"), rows, missed)


if __name__ == "__main__":
    sys.exit(main())
