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
from rich.console import Console
from rich.table import Table

from app.privacy.screenshots import chromium
from app.web.security import FOREVER
from tests.bench import report
from tests.bench.load import servers
from tests.browser.waiting import until

STUDY = "demo"
LINE = {"offline": False, "latency": 40, "downloadThroughput": 10e6 / 8, "uploadThroughput": 10e6 / 8}
"""Milliseconds, and bytes a second."""
SLOW = {"offline": False, "latency": 300, "downloadThroughput": 100e3, "uploadThroughput": 100e3}
MOST_ON_SLOW = 1.5
"""Times what the page's bytes take on the slow line."""
READY = "document.documentElement?.dataset.ready === 'yes'"
WATCH = """new MutationObserver(() => {
  if (!window.usableMs && document.documentElement?.dataset.ready === "yes") window.usableMs = performance.now();
}).observe(document, {subtree: true, childList: true, attributes: true});"""
HASHED = re.compile(r"/assets/.*-[\w-]{8}\.\w+$")
QUIET_MS = 500
"""So long without a request, and all is loaded."""
MOST_KIB, MOST_COLD_MS, MOST_WARM_MS = 600, 1_500, 500


@dataclass
class Load:
    """One opening of the page."""

    usable_ms: float = 0
    asked: list[str] = field(default_factory=list)
    """What was asked of the server, and not found in the browser's cache."""
    kept: set[str] = field(default_factory=set)
    """What was."""
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
        self._load.asked.append(path)
        headers = {name.lower(): value for name, value in answer["headers"].items()}
        if HASHED.search(path) and headers.get("cache-control") != FOREVER:
            self._load.mortal.append(path)

    def _finished(self, told: dict[str, Any]) -> None:
        self._open.discard(told["requestId"])
        self._load.size += int(told.get("encodedDataLength", 0))


def opened(browser: Browser, url: str, *lines: Mapping[str, float]) -> tuple[Load, ...]:
    with browser.new_context() as context:
        context.request.post(f"{url}/s/{STUDY}", data=servers.button(STUDY), max_redirects=0, headers={"origin": url})
        return tuple(Watched(context.new_page(), line).open(url + "/") for line in lines)


def loads(folder: Path, where: str, times: int) -> list[tuple[Load, Load, Load]]:
    port = servers.free_port()
    with (
        servers.parley(folder, port, STUDY, address_rate_multiplier=1_000, sessions_per_address_per_hour=1_000),
        sync_playwright() as started,
    ):
        browser = started.chromium.launch(executable_path=where, args=["--no-sandbox"])
        url = f"http://127.0.0.1:{port}"
        return [(*opened(browser, url, LINE, LINE), *opened(browser, url, SLOW)) for _ in range(times)]  # type: ignore[misc]


def verdicts(found: list[tuple[Load, Load, Load]]) -> list[tuple[str, str, str, bool]]:
    colds, warms, slows = zip(*found, strict=True)
    slow = statistics.median(load.usable_ms / 1e3 / (load.size / SLOW["downloadThroughput"]) for load in slows)
    cold, warm = (sorted(load.usable_ms for load in some) for some in (colds, warms))
    kib, mortal = max(load.kib for load in colds), colds[0].mortal
    return [
        ("cold: KiB over the line", f"{kib:.0f}", f"<= {MOST_KIB}", kib > MOST_KIB),
        ("cold: requests", str(len(colds[0].asked)), "", False),
        ("cold: usable after, s (median; most)", *_times(cold, MOST_COLD_MS)),
        (
            "slow line: usable after, times what its bytes take",
            f"{slow:.2f}",
            f"<= {MOST_ON_SLOW}",
            slow > MOST_ON_SLOW,
        ),
        ("warm: KiB over the line", f"{max(load.kib for load in warms):.0f}", "", False),
        ("warm: requests to the server", str(max(len(load.asked) for load in warms)), "", False),
        ("warm: usable after, s (median; most)", *_times(warm, MOST_WARM_MS)),
        ("hashed assets", str(sum(bool(HASHED.search(path)) for path in colds[0].asked)), "", False),
        ("hashed assets that are not immutable", str(len(mortal)), "0", bool(mortal)),
    ]


def _times(ms: list[float], most_ms: float) -> tuple[str, str, bool]:
    middle = statistics.median(ms)
    return f"{middle / 1e3:.2f}; {ms[-1] / 1e3:.2f}", f"<= {most_ms / 1e3}", middle > most_ms


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=9, help="how often it is loaded cold and warm")
    report.add_docs(parser)
    wanted = parser.parse_args(given)
    out, where = Console(width=120), chromium()
    if where is None:
        out.print("The page is left out: there is no Chromium here.")
        return 0
    with TemporaryDirectory() as folder:
        told = verdicts(loads(Path(folder), where, wanted.times))
    table = Table("what", "found", "bar", "", title="The page, over 10 Mbit/s with 40 ms")
    for *cells, missed in told:
        table.add_row(*cells, "MISSED" if missed else "kept" if cells[2][:1] in "<>0" and cells[2] else "")
    out.print(table)
    if wanted.docs:
        text = f"Measured on {report.measured_on()}, {wanted.times} times:\n\n{report.drawn_as(table)}"
        report.write("page", text)
    return int(any(missed for *_, missed in told))


if __name__ == "__main__":
    sys.exit(main())
