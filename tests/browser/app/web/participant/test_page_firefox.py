"""In Firefox: the demo study from its link to the completion code, and one in a page of another site."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from app.web.participant.view import StudyContext
from tests.browser.firefox import Firefox, running
from tests.browser.visitor import MARK, MOST_SCREENS, REPLIED
from tests.fakes.served import Process
from tests.web import gallery

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]
READY = "document.documentElement?.dataset.ready === 'yes'"
FIELD = "#left form .field"
UNSAID = "document.documentElement.dataset.layout === 'chat' && !document.querySelector('#chat .message.you')"
SHEET = "#sheet-bar [aria-controls][aria-expanded=false]"
SIDES = [(1280, 900), (390, 844)]


@pytest.fixture(scope="module")
def page(firefox: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    """A window of a Firefox that runs for the whole file, as its start costs as much as a study."""
    with running(firefox, tmp_path_factory.mktemp("firefox")) as page:
        yield page


def talk(page: Firefox) -> None:
    """Say something, hear the reply out and rate it."""
    page.type("#box textarea", "Please explain how to begin.")
    page.click("#send")
    page.until(f"({REPLIED})()")
    page.click("#side form label.option:first-of-type")
    page.click("#side form button[type=submit]")
    page.until("!document.querySelector('#side form')")


def go_on(page: Firefox) -> None:
    """Answer every question of a screen, and go to the next."""
    if page.run(f"return document.querySelector('{SHEET}')?.checkVisibility()"):
        page.click(SHEET)
    page.click(f"{FIELD}:is([data-control=radio], [data-control=checkbox]) label.option:nth-of-type(2)")
    page.click(f"{FIELD}[data-control=tick] label.option")
    page.click(f"{FIELD} input[type=range]")
    page.type(f"{FIELD}[data-control=number] input", "42")
    page.type(f"{FIELD}:not([data-control=number]) :is(textarea, input[type=text])", "It went well, thank you.")
    before = page.run(f"return {MARK}")
    page.click("#left form button[type=submit]")
    page.until(f"{MARK} !== arguments[0] && document.activeElement?.id === 'heading'", before)


@pytest.mark.parametrize("sides", [SIDES, *(pytest.param([side], marks=pytest.mark.soak) for side in SIDES)])
def test_the_demo_study_to_its_end(page: Firefox, fast: Process, sides: Sequence[tuple[int, int]]) -> None:
    """In short with every other screen on a phone."""
    page.size(*sides[0])
    page.ask("WebDriver:DeleteAllCookies")
    page.ask("WebDriver:Navigate", url=f"{fast.url}/s/demo")
    page.click("button")
    page.until(READY)
    for number in range(MOST_SCREENS):
        if page.all("#completion-code"):
            break
        page.size(*sides[number % len(sides)])
        if page.run(f"return {UNSAID}"):
            talk(page)
        go_on(page)
    assert page.all("#completion-code"), page.run("return document.body.innerText")
    assert page.complaints(fast.url) == []


OUT_OF_REACH = """[...document.querySelectorAll(".formula, :not(.formula) > math, #box textarea")]
  .filter((one) => one.checkVisibility())
  .filter((one) => {
    const { left, right } = one.getBoundingClientRect();
    one.scrollLeft = 1e4;
    const hidden = one.clientWidth && one.scrollWidth > one.clientWidth && !one.scrollLeft;
    one.scrollLeft = 0;
    return left < -1 || right > innerWidth + 1 || hidden;
  }).map((one) => one.outerHTML.slice(0, 80))"""


def test_wide_formulas_and_the_box_are_within_reach(page: Firefox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Firefox scrolls no MathML, and of an empty box from right to left it moves the placeholder."""
    page.size(390, 844)
    shown = [("en", "wide-formulas"), ("ar", "wide-formulas"), ("ar", "chat-table")]
    with gallery.on_stage() as url:
        for language, screen in shown:
            monkeypatch.setattr(gallery, "LOOK", StudyContext("A study", language, "study@example.org"))
            page.ask("WebDriver:Navigate", url=f"{url}/show/{screen}")
            page.until(READY)
            assert page.run("return document.documentElement.lang") == language
            assert page.run(f"return {OUT_OF_REACH}") == [], (language, screen)
            assert page.all(".formula" if screen != "chat-table" else ".formula, #box textarea")
