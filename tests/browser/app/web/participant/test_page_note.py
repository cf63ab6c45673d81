"""Where the note stands: it speaks of a box or a button, and covers neither."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.waiting import settled, until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.nightly]
Screens = Callable[[str], Page]
# The second is the first at 200 %; the third is a phone on its side.
SIZES = [(1280, 800), (640, 400), (844, 390), (390, 844), (360, 640)]
# As the note is where there is no connection, and what it covers.
TELL = """parley.paint({ note: { value: `<p class="note">There is no connection at the moment. Your text is still here.
  <button type="button" data-again>Try again</button></p>` } })"""
COVERED = """() => {
  const over = (one, note) => Math.min(one.right, note.right) > Math.max(one.left, note.left)
    && Math.min(one.bottom, note.bottom) > Math.max(one.top, note.top);
  const note = document.querySelector("#note .note").getBoundingClientRect();
  const those = "#box textarea, #send, #left [type=submit], #left [data-open=declining]";
  return [...document.querySelectorAll(those)].filter((one) => one.checkVisibility())
    .filter((one) => over(one.getBoundingClientRect(), note)).map((one) => one.outerHTML.slice(0, 90));
}"""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("chat-table", "#box textarea"),
        ("compare", "#box textarea"),
        ("compare-vote", "#box textarea"),
        ("survey", "#left [type=submit]"),
        ("consent", "#left [type=submit]"),
    ],
)
def test_it_is_in_view_and_covers_neither_the_box_nor_the_button(
    screens: Screens, size: tuple[int, int], name: str, at: str
) -> None:
    page = screens("finish")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page = screens(name)
    if at == "#box textarea":
        page.evaluate("parley.paint({ box: { value: 'What is the smallest number with this property? '.repeat(3) } })")
        until(page, "document.querySelector('#box textarea').value")
    page.locator(at).evaluate("one => one.scrollIntoView({ block: 'nearest' })")
    page.evaluate(TELL)
    expect(page.locator("#note .note")).to_be_in_viewport(ratio=1)
    settled(page)
    assert page.evaluate(COVERED) == []
    page.evaluate("parley.paint({ note: { value: '' }, box: { value: '' } })")
    expect(page.locator("#note .note")).to_have_count(0)
