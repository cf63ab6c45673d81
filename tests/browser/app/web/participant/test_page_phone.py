"""A conversation on a phone: it has the screen, its box stays in view, and the question slides over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from app.web.participant.view import PAGE_WORDS
from tests.browser.visitor import Visitor
from tests.browser.waiting import until
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.nightly]
NewContext = Callable[..., BrowserContext]
Screens = Callable[[str], Page]
PHONE = {"width": 390, "height": 844}
IN_VIEW = """() => {
  const { top, bottom } = document.querySelector("#box textarea").getBoundingClientRect();
  const right = document.querySelector("#send").getBoundingClientRect().right;
  return top >= 0 && bottom <= innerHeight && right <= innerWidth && scrollY === 0;
}"""


@pytest.fixture
def phone(screens: Screens) -> Iterator[Screens]:
    """Screens on a phone."""

    def show(name: str) -> Page:
        page = screens("consent")
        page.set_viewport_size(PHONE)
        return screens(name)

    yield show
    screens("consent").set_viewport_size({"width": 1280, "height": 800})


def toggle(page: Page) -> Locator:
    return page.locator("#sheet-bar [aria-controls]")


def test_the_question_is_open_above_the_box_until_something_was_said(phone: Screens) -> None:
    page = phone("chat")
    expect(toggle(page)).to_have_attribute("aria-expanded", "true")
    expect(page.locator("#left .problem")).to_be_visible()
    expect(page.locator("#heading")).to_be_focused()
    until(page, IN_VIEW)
    page.locator("#box textarea").click()  # nothing is over it
    page = phone("chat-waiting")
    expect(toggle(page)).to_have_attribute("aria-expanded", "false")
    expect(page.locator("#left .problem")).to_be_hidden()
    expect(toggle(page)).to_contain_text("Question")
    expect(toggle(page)).to_contain_text("be given by")
    until(page, IN_VIEW)


def test_the_sheet_opens_and_closes_by_tap_key_and_escape_and_the_focus_comes_back(phone: Screens) -> None:
    page = phone("chat-answer")
    sheet, button = page.locator("#left-column"), toggle(page)
    assert button.get_attribute("aria-controls") == sheet.get_attribute("id")
    button.click()
    expect(sheet).to_be_visible()
    expect(page.locator("#heading")).to_be_focused()
    button.click()
    expect(sheet).to_be_hidden()
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#heading")).to_be_focused()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(button).to_be_focused()
    expect(button).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("Tab")  # on to the button beside it and to the conversation, past the form that is hidden
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('#right-column').contains(document.activeElement)")


def test_the_way_on_is_in_the_bar_and_leads_to_the_answer(phone: Screens) -> None:
    """It is called by what it does, and leaves room for the question; where nothing is asked it goes on by itself."""
    page = phone("chat-answer")
    onward = page.locator("#sheet-bar > button")
    expect(onward).to_have_text(PAGE_WORDS["answer"])
    onward.click()
    expect(page.locator("#left [data-field] input").first).to_be_focused()
    expect(page.locator("#left [data-field] input").first).to_be_in_viewport()
    page.locator("#left [data-field] label").last.click()
    expect(page.locator("#left [type=submit]")).to_be_in_viewport(ratio=0.9)
    page = phone("chat-table")
    page.set_viewport_size({"width": 320, "height": 568})
    expect(onward).to_have_text("Continue")
    until(page, "document.querySelector('#sheet-bar span').getBoundingClientRect().width > 40")
    page.route("**/api/act", lambda route: route.fulfill(status=400, json={}), times=1)
    with page.expect_request("**/api/act") as sent:
        onward.click()
    assert sent.value.post_data_json["kind"] == "submit"
    page = phone("chat-waiting")
    expect(onward).to_be_hidden()


def test_the_box_stays_in_view_while_a_reply_streams(slow: Process, new_context: NewContext) -> None:
    page = new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    visitor = Visitor(page, slow.url)
    visitor.arrive("demo")
    visitor.until("chat")
    until(page, IN_VIEW)
    page.locator("#box textarea").tap()
    for key in ("a", "Enter", "b"):  # a line break: only the button sends
        page.keyboard.press(key)
    expect(page.locator("#box textarea")).to_have_value("a\nb")
    visitor.say("Please explain the Pythagorean theorem.\n")
    expect(page.locator("#box textarea")).to_have_value("")
    expect(toggle(page)).to_have_attribute("aria-expanded", "false")
    live = page.locator("#chat .message.bot .text")
    for words in (1, 20):
        until(page, "least => document.querySelector('#chat .message.bot .text').innerText.length > least", words)
        until(page, IN_VIEW)
        expect(live).to_be_in_viewport()
    page.get_by_role("button", name="Stop the reply").click()
    visitor.hear_out()
    until(page, IN_VIEW)
    assert visitor.complaints == []
