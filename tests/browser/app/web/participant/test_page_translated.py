"""A page that the browser translates: it goes on, no text is lost or doubled, and what is stored is the study's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.conftest import READY
from tests.browser.told import newest_facts
from tests.browser.visitor import REPLIED, Visitor
from tests.browser.waiting import until
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.nightly]
NewContext = Callable[..., BrowserContext]
TRANSLATOR = Path(__file__).parents[3].joinpath("translator.js").read_text(encoding="utf-8")
BEGINS = "⟦"
KEEP = """() => {
  for (const message of document.querySelectorAll("#chat .message .text")) {
    message.querySelector("font").dataset.kept = "";
  }
}"""
# The text of the page's parts, translated back.
READ = """() => {
  const back = (text) => text.replace(/⟦([^⟧]*)⟧/gu, (_, word) => [...word].reverse().join(""));
  return Object.fromEntries(["head", "left", "talk", "chat", "side"].map((name) => {
    const part = document.getElementById(name).cloneNode(true);
    part.querySelectorAll("[data-testid=status-tracker]").forEach((one) => one.remove());
    return [name, back(part.textContent).replace(/\\s+/g, " ").trim()];
  }));
}"""
WHOLLY = """() => {
  const OWN = "[data-testid=status-tracker]";
  const walker = document.createTreeWalker(document.querySelector("#columns"), NodeFilter.SHOW_TEXT);
  const open = [];
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    if (data.trim() && !parentElement.closest(`font, [translate=no], textarea, ${OWN}`)) open.push(data);
  }
  return open.length === 0;
}"""


def test_a_reply_that_streams_into_a_translated_page(slow: Process, new_context: NewContext) -> None:
    """After it, and another one, the conversation is the same as on a page without a translation."""
    page = new_context().new_page()
    page.add_init_script(TRANSLATOR)
    visitor = Visitor(page, slow.url)
    visitor.arrive("demo")
    visitor.until("chat")
    visitor.say("Please explain the Pythagorean theorem.")
    until(page, "document.querySelector('#chat .live font')")
    visitor.hear_out()
    until(page, WHOLLY)
    page.evaluate(KEEP)
    visitor.say("Why is that so?")
    visitor.hear_out()
    until(page, WHOLLY)
    assert page.locator("#chat [data-kept]").count() == 2, "what was translated before is left as it was"
    plain = page.context.new_page()
    plain.goto(slow.url)
    until(plain, READY)
    until(plain, REPLIED)
    assert page.evaluate(READ)["chat"] == plain.evaluate(READ)["chat"]
    visitor.go_on()
    assert page.locator("html").get_attribute("lang") == "xx", "not set back by the page"
    assert BEGINS not in repr([event.data for event in newest_facts(slow)])
    assert visitor.complaints == []
