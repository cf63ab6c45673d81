"""Pictures on the participants' page: they are loaded, fit their box, and an option that is one can be chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.axe import Look, faults
from tests.browser.visitor import Visitor
from tests.browser.waiting import settled, until
from tests.fakes import pictures
from tests.fakes.served import Served, serving_aside, settings_for

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.nightly]
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


LOOKS = (Look("light", 1280), Look("light", 390), Look("dark", 390))


def test_every_picture_is_shown_within_its_box(
    served: Served, new_context: Callable[..., BrowserContext], soak: bool
) -> None:
    """In every look, and by axe-core in one of them."""
    page = new_context(reduced_motion="reduce").new_page()
    met: list[str] = []
    screens = count()

    def look_at(page: Page) -> None:
        until(page, LOADED)
        met.extend(page.evaluate("[...document.images].map((one) => one.alt)"))
        looked_at = LOOKS if soak else (LOOKS[next(screens) % len(LOOKS)],)
        for look in (*(one for one in LOOKS if one not in looked_at), *looked_at):
            look.put_on(page)
            settled(page)
            assert page.evaluate(BROKEN) == []
            assert page.evaluate(OUTSIDE) == []
            assert look not in looked_at or faults(page) == []

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
