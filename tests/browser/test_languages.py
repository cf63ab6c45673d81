"""Somebody who reads from right to left takes part on a phone."""

import re
from collections.abc import Callable, Mapping

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app.i18n.catalogues import catalogue
from tests.browser.axe import TOO_WIDE
from tests.browser.visitor import Visitor
from tests.browser.waiting import quiet
from tests.fakes import studies
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]
PHONE = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True, "locale": "ar"}
SAY = catalogue("ar")


def texts(value: object) -> list[str]:
    """Every text in a piece of a study file."""
    match value:
        case str():
            return [value]
        case Mapping():
            return [text for one in value.values() for text in texts(one)]
        case list():
            return [text for one in value for text in texts(one)]
    return []


# All that is to be read or heard, but for what problems, people and models say.
READ = """() => {
  const said = `.problem .text, .recall .text, .lettered .words, .message .text, #heard, code, #sheet-bar span,
    script, style, noscript`;
  const names = ["aria-label", "aria-valuetext", "aria-roledescription", "alt", "placeholder", "title"];
  const found = [document.title];
  const all = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  while (all.nextNode()) {
    const at = all.currentNode;
    if (at.nodeType === Node.ELEMENT_NODE) found.push(...names.map((name) => at.getAttribute(name) ?? ""));
    else if (!at.parentElement.closest(said)) found.push(at.textContent.trim());
  }
  return found;
}"""
LATIN = re.compile("[A-Za-z]{2,}")
# Written so in every language; "Export" is a tab of the console, which is in English.
SAME = ("Parley", "ChatBench", "MathConverse", "Markdown", "LaTeX", "English", "Deutsch", "Export")
# What the tests' study says in English in every language.
REMARKS = [re.escape(words) for words in texts(studies.REMARKS)]
KNOWN = re.compile("|".join((*REMARKS, *SAME, "[a-z]+@example.org", "[A-Z0-9]{8,}")))


def fits(page: Page) -> None:
    """The page is written from right to left, nothing of it sticks out, and no word is left in English."""
    quiet(page)  # Gradio's own names of messages are replaced a moment later
    assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == ["ar", "rtl"]
    assert page.evaluate(TOO_WIDE) <= 0
    assert [words for words in page.evaluate(READ) if LATIN.search(KNOWN.sub("", words))] == []


def test_an_arabic_participant_on_a_phone(fast: Process, new_context: Callable[..., BrowserContext]) -> None:
    page = new_context(**PHONE).new_page()
    visitor = Visitor(page, fast.url, at_each=fits)
    page.goto(f"{fast.url}/s/demo")
    fits(page)
    languages = page.get_by_role("navigation").get_by_role("link")
    assert languages.all_inner_texts() == ["English", "Deutsch", "العربية"]
    assert page.locator("[aria-current]").inner_text() == "العربية"
    visitor.arrive("demo")
    assert visitor.heading == SAY("Consent")
    assert page.title() == SAY("Consent")
    visitor.until("chat")
    expect(page.locator("#box textarea")).to_have_attribute("placeholder", SAY("Write a message"))
    expect(page.locator("#send")).to_have_text(SAY("Send"))
    visitor.say("اشرح لي كيف أبدأ.")
    visitor.hear_out()
    bubble = page.locator("#chat .message.you")
    assert bubble.evaluate("one => getComputedStyle(one).direction") == "rtl"
    assert page.locator("#chat .message.you .who").inner_text() == SAY("You")
    visitor.finish()
    assert visitor.heading == SAY("Thank you")
    assert "PARLEY-DEMO" in visitor.text
    assert (visitor.complaints, visitor.elsewhere) == ([], set())
