"""Waiting for something to become true of a page."""

from __future__ import annotations

import time
from typing import Any

from playwright.sync_api import Error, Page

# For a machine that does much else; nobody waits so long for what comes.
MOST_S = 120.0
LOOK_MS = 20
WAIT = """async ([arg, most_ms]) => {
  for (const over = performance.now() + most_ms; performance.now() < over; ) {
    const found = (EXPRESSION);
    if (typeof found === "function" ? await found(arg) : found) return true;
    await new Promise((next) => setTimeout(next, LOOK_MS));
  }
  return false;
}""".replace("LOOK_MS", str(LOOK_MS))
QUIET_MS = 150
QUIET = """(quiet_ms) => new Promise((done) => {
  setTimeout(done, 20 * quiet_ms);
  let rest = setTimeout(done, quiet_ms);
  new MutationObserver(() => {
    clearTimeout(rest);
    rest = setTimeout(done, quiet_ms);
  }).observe(document, { childList: true, subtree: true, attributes: true });
})"""
PAINTED = """async () => {
  const frame = () => new Promise((next) => requestAnimationFrame(next));
  await frame();
  await frame();
  const ends = (one) => one.playState === "running" && one.effect?.getComputedTiming().endTime !== Infinity;
  await Promise.allSettled(document.getAnimations().filter(ends).map((one) => one.finished));
  await document.fonts.ready;
}"""


def until(page: Page, expression: str, arg: Any = None, most_s: float = MOST_S) -> None:
    """Wait until an expression is true, also where the page is left for another meanwhile.

    Playwright's own `wait_for_function` compiles the expression in the page, which our policy refuses, as it should.
    """
    over = time.monotonic() + most_s
    wait = WAIT.replace("EXPRESSION", expression)
    while not _came(page, wait, [arg, (over - time.monotonic()) * 1000]):
        if time.monotonic() > over:
            raise AssertionError(f"not within {most_s} s: {expression}")


def _came(page: Page, wait: str, given: list[Any]) -> bool:
    try:
        return bool(page.evaluate(wait, given))
    except Error as error:
        if "navigation" not in str(error):  # what was asked is gone: ask the next page
            raise
        page.wait_for_timeout(LOOK_MS)
        return False


def settled(page: Page) -> None:
    """Wait until what was just changed is painted, and every animation that ends has ended."""
    page.evaluate(PAINTED)


def quiet(page: Page) -> None:
    """Wait until Gradio's own work on a page is over: nothing has changed for a moment."""
    page.evaluate(QUIET, QUIET_MS)
    settled(page)
