"""Somebody who reads from right to left takes part on a phone."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page

from app.languages import catalogue
from tests.browser.visitor import Visitor
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PHONE = {"viewport": {"width": 390, "height": 800}, "locale": "ar"}
SAY = catalogue("ar")


def fits(page: Page) -> None:
    """The page is written from right to left, and nothing of it sticks out."""
    assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == ["ar", "rtl"]
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


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
    assert page.locator("#box textarea").get_attribute("placeholder") == SAY("Write a message")
    assert page.locator("#send").inner_text() == SAY("Send")
    visitor.say("اشرح لي كيف أبدأ.")
    visitor.hear_out()
    bubble = page.locator("#chat [data-testid=user]")
    assert bubble.evaluate("one => getComputedStyle(one).direction") == "rtl"
    assert SAY("You") in page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--word-you')")
    page.reload()
    visitor.ready()
    fits(page)
    visitor.finish()
    assert visitor.heading == SAY("Thank you")
    assert visitor.complaints == []


def test_the_language_can_be_changed_before_one_begins(
    fast: Process, new_context: Callable[..., BrowserContext]
) -> None:
    page = new_context(locale="fr").new_page()
    page.goto(f"{fast.url}/s/demo?pid=somebody-else")
    page.get_by_role("link", name="Deutsch").click()
    page.wait_for_url("**lang=de*")
    assert "pid=somebody-else" in page.url
    page.get_by_role("button", name=catalogue("de")("Start")).click()
    visitor = Visitor(page, fast.url)
    visitor.ready()
    assert (visitor.heading, page.evaluate("document.documentElement.lang")) == (catalogue("de")("Consent"), "de")
