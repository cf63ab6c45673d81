"""Long replies and formulas while they come, and what opens a conversation on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import serve
from tests.browser.visitor import Visitor
from tests.browser.waiting import until
from tests.fakes import studies
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.nightly]
NewContext = Callable[..., BrowserContext]
LONG = "\n\n".join(f"Paragraph {number} of a reply that is taller than the window. " * 4 for number in range(12))
FORMULA = "First.\n\nThen $$\\frac{a}{b} = c$$ is what we want, and some words follow it here.\n\nAnd the end."
TALK: dict[str, Any] = {"step": "chat", "opens": "Hello there.", "scripted": {1: FORMULA}, "pace": 60, "model": "m"}
COMPARE: dict[str, Any] = {"step": "compare", "id": "both", "scripted": {1: LONG, 2: LONG}, "models": ["m", "n"]}
BELOW = """() => {
  const seen = ["#chat .message", "#left-column"].map((one) => document.querySelector(one)?.getBoundingClientRect());
  return seen.every((one) => one?.height) && seen[0].top >= seen[1].bottom;
}"""
TOP = "document.querySelector('#talk .round:nth-child(2)').getBoundingClientRect().top"
# Collects what a reply in progress shows.
SEEN = """() => new MutationObserver(() => {
  window.seen = `${window.seen ?? ""}|${document.querySelector("#chat .live")?.textContent ?? ""}`;
}).observe(document.querySelector("#chat"), { childList: true, subtree: true, characterData: true })"""


@pytest.fixture
def talking(tmp_path: Path) -> Iterator[Process]:
    raw = {
        "study": "talking",
        "title": "Talking",
        "problems": {"pool": {"items": [{"question": "What is it? " * 200, "options": ["One", "Two"], "answer": "A"}]}},
        "models": {name: {"backend": "scripted", "system": ""} for name in ("m", "n")},
        "flow": [{"each": "q", "of": "pool", "flow": [TALK, COMPARE]}, {"step": "finish"}],
    }
    yield from serve(tmp_path, studies.write(tmp_path, raw))


def test_replies_are_read_from_their_beginning_and_without_marks_of_formulas(
    talking: Process, new_context: NewContext
) -> None:
    page = new_context(viewport={"width": 390, "height": 844}).new_page()
    visitor = Visitor(page, talking.url)
    visitor.arrive("talking")
    until(page, BELOW)
    page.locator("#sheet-bar button").first.click()
    page.evaluate(SEEN)
    visitor.say("Explain it")
    visitor.hear_out()
    seen = page.evaluate("window.seen")
    assert "And the" in seen
    assert "$" not in seen
    page.locator("#sheet-bar > button").click()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.locator("#talk .rounds").wait_for()
    for number in (1, 2):
        page.locator("#box textarea").fill("Compare")
        page.locator("#send").click()
        page.locator(f"#talk .round:nth-child({number}) article").first.wait_for()
        vote = page.locator(".votes button").first
        vote.wait_for()
        if number == 1:
            vote.click()
            expect(page.locator("#talk .voted")).to_be_visible()
    until(page, f"{TOP} > 0 && {TOP} < 200")
