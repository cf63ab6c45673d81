"""What becomes of questions without an answer: Enter does not leave them behind, and the button says where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from app.web.participant.view import PAGE_WORDS
from tests.browser.waiting import settled, until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
Screens = Callable[[str], Page]
WIDTHS = {"desktop": 1280, "phone": 390}
SEEN = """(field) => {
  const { top, bottom, left, width } = field.getBoundingClientRect();
  const heads = [...document.querySelectorAll("#head, .matrix.columns .top")]
    .filter((one) => getComputedStyle(one).position === "sticky").map((one) => one.getBoundingClientRect().bottom);
  heads.push(document.querySelector("#note .note")?.getBoundingClientRect().bottom ?? 0);
  return top >= Math.max(0, ...heads.filter((at) => at < innerHeight / 2)) && bottom <= innerHeight;
}"""
FOCUSED = "document.activeElement.closest('[data-field]')?.dataset.field ?? document.activeElement.type"


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
        assert page.evaluate(FOCUSED) == leads_to
    assert sent == []


@pytest.mark.nightly
def test_enter_sends_no_page_with_an_optional_question_open_and_sends_one_that_is_whole(
    screens: Screens, sent: list[str]
) -> None:
    page = screens("survey")
    answer(page, "field")
    field(page, "age").locator("input").press("Enter")
    assert page.evaluate(FOCUSED) == "field"
    page.keyboard.down("Enter")  # nothing after it is open: on to the button, which a key held down does not press
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    assert page.evaluate(FOCUSED) == "submit"
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
    missing = ["education", "tools", "often", "honest"]
    for name in missing:
        expect(field(page, name).locator(".fault")).to_be_visible()
        control = field(page, name).locator("input").first
        expect(control).to_have_attribute("aria-invalid", "true")
        (described, *_) = str(control.get_attribute("aria-describedby")).split()
        assert page.locator(f"#{described}").inner_text().strip()
    assert page.locator(".fault:visible").count() == len(missing)
    assert page.evaluate(FOCUSED) == "education"
    note = page.locator("#note[role=status]")
    expect(note).to_contain_text("4")
    assert hint.inner_text() in note.inner_text()
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


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("screen", "width"),
    [
        ("rate-dialogue", "desktop"),
        ("rate-turns", "phone"),
        *(
            pytest.param(*way, marks=pytest.mark.soak)
            for way in (("rate-dialogue", "phone"), ("survey", "phone"), ("survey", "desktop"))
        ),
    ],
)
def test_the_first_missing_answer_is_in_view_below_what_sticks_and_the_note(
    screens: Screens, sent: list[str], screen: str, width: str
) -> None:
    page = screens(screen)
    page.set_viewport_size({"width": WIDTHS[width], "height": 640})
    names = [str(one.get_attribute("data-field")) for one in page.locator("#left [data-required]").all()]
    left_out = names[len(names) // 3]
    answer(page, left_out)
    press(page)
    assert page.locator(".fault:visible").count() == 1
    assert page.evaluate(FOCUSED) == left_out
    assert field(page, left_out).evaluate(SEEN)


@pytest.mark.nightly
def test_the_server_tells_at_once_what_is_wrong_beside_what_is_missing(screens: Screens, sent: list[str]) -> None:
    page = screens("survey")
    answer(page, "education")
    page.unroute("**/api/act")
    shown = page.evaluate(
        "fetch('api/look', {method: 'POST', body: JSON.stringify({shown: null})}).then((one) => one.json())"
    )
    told = {**shown, "updates": {}, "refused": True, "faults": {"education": "-", "age": "Out of range."}}
    page.route("**/api/act", lambda route: route.fulfill(json=told))
    press(page)
    expect(field(page, "age").locator(".fault")).to_have_text("Out of range.")
    expect(field(page, "education").locator(".fault")).to_have_text(PAGE_WORDS["unanswered"])
    assert page.evaluate(FOCUSED) == "education"
