"""A streamed reply on the screen: when its first word is painted, how often it is painted, and how evenly.

`python -m tests.bench.streaming`; `--times 3` is a short form. The model sends its first token after 300 ms and 59 more
20 ms apart. Chromium (390 px wide) takes the times of the frames in which the reply has grown; also with its processor
four times slower, as on a phone.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

from tests.bench import bars, servers
from tests.bench.load import MODEL
from tests.bench.model_server import EACH_S, FIRST_S, TOKENS, model_server
from tests.browser.found import chromium
from tests.browser.visitor import REPLIED, Visitor
from tests.browser.waiting import until
from tests.fakes import studies

STUDY = "words"
MOST_FIRST_MS, LEAST_PAINTS, MOST_GAP_MS = 20, 40, 60
SLOW_CPU = 4
WATCH = """(() => {
  let grown = 0;
  const reply = () => document.querySelector("#chat .message.bot:last-child .text:not(:has(.typing))");
  const frame = () => {
    if (!window.asked || !window.frames_) return;
    const length = reply()?.textContent.trim().length ?? 0;
    if (length > grown) window.frames_.push(performance.now());
    grown = Math.max(grown, length);
  };
  addEventListener("keydown", ({ key }) => {
    if (key !== "Enter") return;
    grown = Infinity; // until this message's reply has its place
    window.asked = performance.now();
    window.frames_ = [];
  }, true);
  new MutationObserver(() => {
    if (grown === Infinity && document.querySelector("#chat .typing")) grown = 0;
    requestAnimationFrame(frame);
  }).observe(document, { childList: true, subtree: true, characterData: true });
})();"""


@dataclass(frozen=True)
class Painted:
    """Milliseconds of one reply beyond the model's own, its frames, and the share of a processor that the page used."""

    first_ms: float
    paints: int
    gap_ms: float
    whole_ms: float
    busy: float


class Chat:
    """A participant's page in a chat."""

    def __init__(self, page: Page, url: str) -> None:
        self._page = page
        self._devtools = page.context.new_cdp_session(page)
        self._devtools.send("Performance.enable")
        page.add_init_script(WATCH)
        visitor = Visitor(page, url)
        visitor.arrive(STUDY)
        visitor.until("chat")
        self.ask()  # what is loaded and learned once

    def slow_down(self, times: int) -> None:
        self._devtools.send("Emulation.setCPUThrottlingRate", {"rate": times})

    def ask(self) -> Painted:
        box = self._page.locator("#box textarea")
        box.fill("What is the value of f(x)?")
        self._page.wait_for_timeout(500)
        busy_s = self._busy_s()
        box.press("Enter")
        until(self._page, "window.frames_?.length > 0")
        until(self._page, REPLIED)
        self._page.wait_for_timeout(200)
        asked, frames = self._page.evaluate("[window.asked, window.frames_]")
        took_s = (frames[-1] - asked) / 1e3
        gaps = [later - sooner for sooner, later in pairwise(frames)]
        return Painted(
            frames[0] - asked - 1e3 * FIRST_S,
            len(frames),
            max(gaps, default=0.0),
            frames[-1] - asked - 1e3 * (FIRST_S + EACH_S * (TOKENS - 1)),
            (self._busy_s() - busy_s) / took_s,
        )

    def _busy_s(self) -> float:
        metrics = self._devtools.send("Performance.getMetrics")["metrics"]
        return next(float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")


def replies(folder: Path, where: str, times: int) -> dict[str, list[Painted]]:
    with model_server() as models, sync_playwright() as playwright:
        settings = {"openai_base_url": models.base_url, "openai_api_key": "sk-words"}
        with servers.parley(folder, studies.chat(folder, STUDY, **MODEL), **settings) as process:
            browser = playwright.chromium.launch(executable_path=where, args=["--no-sandbox"])
            page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
            chat = Chat(page, process.url)
            found = {"idle": [chat.ask() for _ in range(times)]}
            chat.slow_down(SLOW_CPU)
            return found | {f"processor {SLOW_CPU} times slower": [chat.ask() for _ in range(times)]}


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=9, help="how many replies with each processor, at most 9")
    times, where = parser.parse_args(given).times, chromium()
    if where is None:
        print("Streaming is left out: there is no Chromium here.")
        return 0
    with TemporaryDirectory() as folder:
        found = replies(Path(folder), where, times)
    rows = [(name, *_cells(some)) for name, some in found.items()]
    idle = found["idle"]
    missed = ["first word"] * (statistics.median(one.first_ms for one in idle) > MOST_FIRST_MS)
    missed += ["paints"] * (statistics.median(one.paints for one in idle) < LEAST_PAINTS)
    missed += ["gap"] * (statistics.median(one.gap_ms for one in idle) > MOST_GAP_MS)
    header = ("page", "first word over, ms", "paints", "longest gap, ms", "whole reply over, ms", "page's processor")
    return bars.told(f"A streamed reply of {TOKENS} tokens, {times} times, medians (least-most)", header, rows, missed)


def _cells(some: list[Painted]) -> list[str]:
    cells = [
        f"{statistics.median(numbers):.0f} ({min(numbers):.0f}-{max(numbers):.0f})"
        for numbers in ([getattr(one, name) for one in some] for name in ("first_ms", "paints", "gap_ms", "whole_ms"))
    ]
    return [*cells, f"{statistics.median(one.busy for one in some):.0%}"]


if __name__ == "__main__":
    sys.exit(main())
