"""Clicks that come twice, or from a page that is behind."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from app.web.participant.api import ANOTHERS
from app.web.participant.view import PAGE_WORDS
from experiments.session.engine import STALE
from tests.browser.told import count, newest_facts
from tests.browser.visitor import Visitor
from tests.browser.waiting import settled, until
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]
NewContext = Callable[..., BrowserContext]
LOOK = """one => {
  const { borderColor, borderWidth, backgroundColor, boxShadow, outline } = getComputedStyle(one);
  return [borderColor, borderWidth, backgroundColor, boxShadow, outline];
}"""


def test_a_double_click_is_one_step_and_answers_nothing_on_the_screen_that_comes_up_under_it(
    fast: Process, new_context: NewContext
) -> None:
    page = new_context().new_page()
    visitor = Visitor(page, fast.url)
    visitor.arrive("short")
    visitor.fill_in()
    before = visitor.mark
    submit = page.locator("#left form button[type=submit]")
    submit.dblclick()
    visitor.arrived_from(before)
    expect(visitor.note).to_have_text("")
    assert count(fast, "submitted") == 1
    visitor.until("Please read the following question")
    visitor.fill_in()
    submit.scroll_into_view_if_needed()  # a drawn problem may be long, and the mouse itself does not scroll
    settled(page)
    steps, before, button = count(fast, "submitted"), visitor.mark, submit.bounding_box()
    assert button is not None
    at = button["x"] + button["width"] / 2, button["y"] + button["height"] / 2
    page.mouse.click(1, 1)  # or the browser would count on from the double click
    page.mouse.click(*at)
    visitor.arrived_from(before)
    page.mouse.move(*at)
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    expect(page.locator("#heading")).to_be_focused()
    expect(page.locator("#left input:checked")).to_have_count(0)
    expect(visitor.note).to_have_text("")
    assert count(fast, "submitted") == steps + 1


@pytest.mark.parametrize("width", [1280, 390])
def test_the_focus_stays_where_somebody_goes_while_a_click_is_on_its_way(
    slow: Process, new_context: NewContext, width: int
) -> None:
    page = new_context(viewport={"width": width, "height": 844}).new_page()
    visitor = Visitor(page, slow.url)
    visitor.arrive("demo")
    visitor.until("chat")
    held: list[Route] = []
    page.route("**/api/act", lambda route: held.append(route))
    option = page.locator("#left input[type=radio]").first
    visitor.type_message("Please explain the Pythagorean theorem.")
    for button in (page.locator("#send"), page.get_by_role("button", name="Stop the reply")):
        with page.expect_request("**/api/act"):
            button.click()
        option.click()
        with page.expect_response("**/api/act"):
            held.pop().continue_()
        until(page, "!document.querySelector('[data-busy]')")
        settled(page)
        expect(option).to_be_focused()
    assert "stopped" in {one.kind for one in newest_facts(slow)}


@pytest.mark.parametrize(("name", "answers"), [("chat-answer", "#left .option"), ("compare-vote", ".votes button")])
def test_no_answer_below_a_pointer_that_rests_there_looks_unlike_the_others(
    screens: Callable[[str], Page], name: str, answers: str
) -> None:
    page = screens(name)
    page.mouse.move(0, 0)
    settled(page)
    answer = page.locator(answers).first
    at_rest = answer.evaluate(LOOK)
    answer.hover()
    settled(page)
    assert answer.evaluate(LOOK) == at_rest
    if name == "chat-answer":
        answer.click()
        settled(page)
        assert answer.evaluate(LOOK) != at_rest


def test_a_second_tab_is_told_and_shown_the_right_screen(fast: Process, new_context: NewContext) -> None:
    context = new_context()
    first = Visitor(context.new_page(), fast.url)
    first.arrive("short")
    second, empty = (Visitor(context.new_page(), fast.url) for _ in range(2))
    for tab in (second, empty):
        tab.page.goto(f"{fast.url}/")
        tab.ready()
    second.fill_in()
    first.go_on()
    for tab in (second, empty):
        expect(tab.note).to_contain_text(PAGE_WORDS["elsewhere"])
    expect(second.page.locator("#left input:checked")).not_to_have_count(0)
    second.press(second.page.locator("#left form button[type=submit]"))
    expect(second.page.locator("#note")).to_contain_text(STALE)
    expect(second.page.locator("#heading")).to_have_text(first.heading)
    assert second.text == first.text
    assert count(fast, "submitted") == 1
    empty.press(empty.page.get_by_role("button", name=PAGE_WORDS["takeOver"]))
    expect(empty.page.locator("#heading")).to_have_text(first.heading)
    assert empty.text == first.text
    second.go_on()
    first.reload()
    assert first.text == second.text


def test_a_tab_of_who_was_at_the_browser_before_sends_and_keeps_nothing_for_who_is_there_now(
    fast: Process, new_context: NewContext
) -> None:
    """The first one's tab is open still when somebody else has begun in that browser; both are at the same place."""
    context = new_context()
    first = Visitor(context.new_page(), fast.url)
    first.arrive("short")
    context.clear_cookies()
    second = Visitor(context.new_page(), fast.url)
    second.arrive("short")
    before = count(fast, "submitted")
    with first.page.expect_response("**/api/draft"):
        first.fill_in()
    expect(first.page.locator("#saved")).to_be_empty()
    first.press(first.page.locator("#left form button[type=submit]"))
    expect(first.page.locator("#note")).to_contain_text(ANOTHERS)
    expect(first.page.locator("#left input:checked")).to_have_count(0)
    assert count(fast, "submitted") == before
    second.page.reload()
    second.ready()
    expect(second.page.locator("#left input:checked")).to_have_count(0)
    first.go_on()
    assert count(fast, "submitted") == before + 1
