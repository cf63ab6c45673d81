"""What becomes of questions without an answer: Enter does not leave them behind, and the button says where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.waiting import settled, until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.nightly]
Screens = Callable[[str], Page]
FOCUSED = (
    "name => (document.activeElement.closest('[data-field]')?.dataset.field ?? document.activeElement.type) === name"
)


@pytest.fixture
def sent(screens: Screens) -> Iterator[list[str]]:
    """The forms that are sent from now on. They do not arrive: the page says so, and stays as it is."""
    page = screens("consent")
    page.reload()  # without what the last test left on it
    page.set_viewport_size({"width": 1280, "height": 800})
    sent: list[str] = []
    page.route("**/api/act", lambda route, request: (sent.append(str(request.post_data)), route.abort()))
    yield sent
    page.unroute("**/api/act")


def field(page: Page, name: str) -> Locator:
    return page.locator(f"[data-field={name}]")


def answer(page: Page, *but: str) -> None:
    """Answer every question of the page, except these."""
    for one in page.locator("#left [data-field]").all():
        if one.get_attribute("data-field") in but:
            continue
        match one.get_attribute("data-control"):
            case "radio" | "checkbox" | "tick":
                one.locator("input").first.check()
            case "slider":
                one.locator("input[type=range]").click()
            case _:
                one.locator("input, textarea").fill("42")


def press(page: Page) -> None:
    page.locator("#left form [type=submit]").click()
    settled(page)


# ---- Enter


def test_enter_leads_to_the_next_question_without_an_answer(screens: Screens, sent: list[str]) -> None:
    """In a line of text, a number, options to choose from and boxes to tick."""
    page = screens("survey")
    for at, leads_to in (("gender", "education"), ("tools", "age"), ("age", "often"), ("field", "thoughts")):
        control = field(page, at).locator("input").first
        if at in ("age", "field"):
            control.fill("42")
        control.focus()
        page.keyboard.press("Enter")
        until(page, FOCUSED, leads_to)
    assert sent == []


def test_enter_sends_no_page_with_an_optional_question_open_and_sends_one_that_is_whole(
    screens: Screens, sent: list[str]
) -> None:
    page = screens("survey")
    answer(page, "field")
    field(page, "age").locator("input").press("Enter")
    until(page, FOCUSED, "field")
    page.keyboard.down("Enter")  # nothing after it is open: on to the button, which a key held down does not press
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    until(page, FOCUSED, "submit")
    assert sent == []
    field(page, "field").locator("input").fill("Physics")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#note .note')")
    assert len(sent) == 1


# ---- The button


def test_the_button_marks_and_counts_what_is_missing(screens: Screens, sent: list[str]) -> None:
    """In words, for the ear too; the marks go one by one with the answers, and optional questions have none."""
    page = screens("survey")
    answer(page, "education", "tools", "often", "honest", "field")
    button, hint = page.locator("#left form [type=submit]"), page.locator("#left [data-hint]")
    expect(button).to_be_enabled()
    expect(hint).to_be_empty()
    press(page)
    note = page.locator("#note[role=status]")
    expect(note).to_contain_text("4")  # at once: it fades
    expect(hint).to_contain_text("4")
    missing = ["education", "tools", "often", "honest"]
    for name in missing:
        expect(field(page, name).locator(".fault")).to_be_visible()
        control = field(page, name).locator("input").first
        expect(control).to_have_attribute("aria-invalid", "true")
        (described, *_) = str(control.get_attribute("aria-describedby")).split()
        expect(page.locator(f"#{described}")).not_to_be_empty()
    expect(page.locator(".fault:visible")).to_have_count(len(missing))
    until(page, FOCUSED, "education")
    answered = field(page, "tools")
    answered.locator("label.option").first.click()
    expect(answered.locator(".fault")).to_be_hidden()
    expect(answered.locator("[aria-invalid]")).to_have_count(0)
    expect(hint).to_contain_text("3")
    answer(page, "field")
    expect(page.locator(".fault:visible")).to_have_count(0)
    expect(hint).to_be_empty()
    sent.clear()  # what was missing was checked by the server as well
    press(page)
    until(page, "document.querySelector('#note .note')")
    assert len(sent) == 1
