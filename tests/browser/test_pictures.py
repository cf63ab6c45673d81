"""Pictures on the participants' page: they are loaded, fit their box, and an option that is one can be chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.axe import faults
from tests.browser.visitor import KeyboardVisitor, Visitor
from tests.browser.waiting import settled, until
from tests.fakes import pictures
from tests.fakes.served import Served, serving_aside, settings_for

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
LOADED = "[...document.images].every((one) => one.complete)"
BROKEN = """() => [...document.images].filter((one) => !one.naturalWidth).map((one) => one.alt)"""
OUTSIDE = """() => [...document.images].filter((one) => {
  const box = one.parentElement.closest(".text, .words, legend, label").getBoundingClientRect();
  const { left, right, width, height } = one.getBoundingClientRect();
  const stretched = Math.abs(width / height - one.naturalWidth / one.naturalHeight) > 0.05;
  return left < box.left - 1 || right > box.right + 1 || stretched;
}).map((one) => one.alt)"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("charts")
    with serving_aside(settings_for(folder), pictures.study(folder)) as served:
        yield served


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, False), (390, True)])
def test_every_picture_is_shown_within_its_box(
    served: Served, new_context: Callable[..., BrowserContext], tmp_path: Path, width: int, dark: bool
) -> None:
    look = {"viewport": {"width": width, "height": 800}, "color_scheme": "dark" if dark else "light"}
    page = new_context(**look).new_page()
    met: list[str] = []

    def look_at(page: Page) -> None:
        until(page, LOADED)
        settled(page)
        met.extend(page.evaluate("[...document.images].map((one) => one.alt)"))
        page.screenshot(path=tmp_path / f"{len(list(tmp_path.iterdir()))}.png", full_page=True)
        assert page.evaluate(BROKEN) == []
        assert page.evaluate(OUTSIDE) == []
        assert faults(page) == []

    person = Visitor(page, served.url, look_at)
    person.arrive("charts")
    person.until("Where does the line go")
    while not page.locator("label.option img").count():
        person.go_on()
    page.locator("label.option img").nth(1).click()
    assert page.locator("input:checked").get_attribute("value") == "B"
    person.finish()
    assert {"The logo", "It rises", "It falls", "A rising line", "this line"} <= set(met)
    assert (person.complaints, person.elsewhere) == ([], set())


def test_options_that_are_pictures_are_chosen_by_keyboard(
    served: Served, new_context: Callable[..., BrowserContext]
) -> None:
    person = KeyboardVisitor(new_context().new_page(), served.url)
    person.arrive("charts")
    person.finish()
    assert person.complaints == []
