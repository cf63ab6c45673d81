"""Every screen of participants by axe-core: no violation of WCAG 2.2 A or AA, nor of its best practice, and nothing
scrolls sideways.

In short each screen is seen in one of six looks, in turn; with --soak in all of them. Each is also read as a screen
reader reads it: what can be operated has a role and a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from app.web import arrival
from tests.browser.axe import LOOKS, Audit
from tests.browser.visitor import Visitor
from tests.browser.waiting import MOST_S, settled, until
from tests.fakes.served import Process
from tests.web.gallery import on_stage
from tests.web.screens import SCREENS

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
SPACED = "* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important }"
"""What somebody may set for themselves (WCAG 1.4.12)."""
AROUND = sorted(path.name for path in Path(arrival.__file__).with_name("pages").glob("[!b]*.html.j2"))


@pytest.fixture(scope="module")
def stage() -> Iterator[str]:
    """The gallery of screens."""
    with on_stage() as url:
        yield url


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """One browser's, whose cache makes the next screen quick."""
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(MOST_S * 1000)
    yield context.new_page()
    context.close()


def show(page: Page, stage: str, name: str) -> None:
    """A screen of the gallery."""
    page.goto(f"{stage}/show/{name}")
    until(page, "document.documentElement?.dataset.ready === 'yes'")
    settled(page)


@pytest.mark.parametrize(("turn", "name"), list(enumerate(SCREENS)), ids=list(SCREENS))
def test_a_screen(stage: str, page: Page, audit: Audit, turn: int, name: str) -> None:
    LOOKS[turn % len(LOOKS)].put_on(page)
    show(page, stage, name)
    audit(page, turn)
    page.add_style_tag(content=SPACED)
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"with more space between letters and lines it is {wide} px too wide"


@pytest.mark.parametrize(
    "study", ["demo", "arena", *(pytest.param(one, marks=pytest.mark.soak) for one in ("short", "dices"))]
)
def test_a_whole_study(fast: Process, new_context: Callable[..., BrowserContext], audit: Audit, study: str) -> None:
    """From the start page to the completion code, on the real server with its Content-Security-Policy."""
    seen: list[str] = []

    def look_at(page: Page) -> None:
        audit(page, len(seen))
        seen.append(page.locator("#heading").inner_text())

    page = new_context(reduced_motion="reduce").new_page()
    page.goto(f"{fast.url}/s/{study}")
    audit(page, 0)
    visitor = Visitor(page, fast.url, look_at)
    visitor.arrive(study)
    page.locator("[data-open=leave]").click()
    audit(page, 1)
    page.keyboard.press("Escape")
    visitor.finish()
    assert len(seen) > 3
    assert visitor.complaints == []


@pytest.mark.parametrize(
    ("turn", "template", "language"),
    [
        pytest.param(turn, template, language, marks=[pytest.mark.soak] * ((turn % 2 == 0) is (language == "ar")))
        for turn, template in enumerate(AROUND)
        for language in ("en", "ar")
    ],
)
def test_a_page_around_a_study(
    fast: Process, page: Page, audit: Audit, turn: int, template: str, language: str
) -> None:
    """Those that are met before a study and in place of one: start, closed, once only, nobody's link, and so on; each
    in one of two languages, with --soak in both."""
    known: dict[str, Any] = {
        "title": "A study",
        "contact": "ann@example.org",
        "returns": False,
        "ended": False,
        "ticket": "t",
        "note": "Wait.",
    }
    known["choices"] = [
        {"tag": "en", "name": "English", "direction": "ltr", "link": "?lang=en"},
        {"tag": "ar", "name": "العربية", "direction": "rtl", "link": "?lang=ar"},
    ]
    body = bytes(arrival.page(template, language, **known).body)
    page.route("**/around", lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto(f"{fast.url}/around")
    page.unroute("**/around")
    assert page.locator("html").get_attribute("lang") == language
    audit(page, turn + 3 * (language == "ar"))


@pytest.mark.parametrize("locale", ["ar", *(pytest.param(one, marks=pytest.mark.soak) for one in ("ja", "en-GB"))])
def test_the_language_is_the_studys_and_not_the_browsers(
    fast: Process, new_context: Callable[..., BrowserContext], locale: str
) -> None:
    page = new_context(locale=locale).new_page()
    of = "[document.documentElement.lang, document.documentElement.dir]"
    page.goto(f"{fast.url}/s/short")
    assert page.evaluate(of) == ["en", "ltr"]
    Visitor(page, fast.url).arrive("short")
    settled(page)
    assert page.evaluate(of) == ["en", "ltr"]
