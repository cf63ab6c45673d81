"""The participants' page in a browser whose letters are set twice as large: it is laid out as if it were enlarged."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.axe import TOO_WIDE
from tests.browser.waiting import MOST_S, settled

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.nightly]
Screens = Callable[[str], Page]
SIZES = [(1280, 800), (640, 400), (390, 844), (360, 640)]
FONT_PX = "one => parseFloat(getComputedStyle(one).fontSize)"
CUT = "one => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight + 1"
# How many options of a rating are seen whole.
WHOLE = """() => {
  const form = document.querySelector("#side form").getBoundingClientRect();
  const seen = ({ top, bottom }) => top >= Math.max(0, form.top) && bottom <= Math.min(innerHeight, form.bottom);
  return [...document.querySelectorAll("#side label.option")].filter((one) => seen(one.getBoundingClientRect())).length;
}"""


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        large = "--blink-settings=defaultFontSize=32,defaultFixedFontSize=26"
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu", large])
        expect.set_options(timeout=MOST_S * 1000)
        yield browser
        browser.close()


@pytest.mark.parametrize("size", SIZES)
def test_a_conversation_and_its_rating_can_be_read(screens: Screens, size: tuple[int, int]) -> None:
    page = screens("consent")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page = screens("chat-rate")
    settled(page)
    assert page.evaluate(TOO_WIDE) <= 0
    assert page.locator("#box textarea").evaluate(FONT_PX) == page.locator("#left p").first.evaluate(FONT_PX) >= 32
    assert not page.locator("#send").evaluate(CUT)
    assert not page.locator("#head .study").evaluate(CUT)
    assert page.locator("#head .study").evaluate("one => one.clientWidth") > 100
    page.locator("#side label.option").nth(1).scroll_into_view_if_needed()
    assert page.evaluate(WHOLE) >= 2
    page.locator("#box textarea").scroll_into_view_if_needed()
    expect(page.locator("#box textarea")).to_be_in_viewport(ratio=1)
