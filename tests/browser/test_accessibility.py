"""Every screen of participants by axe-core: no violation of WCAG 2.2 A or AA, nor of its best practice, and nothing
scrolls sideways.

In short each screen is seen in one of six looks, by the run's seed; with --soak in all of them. Each is also read as a
screen reader reads it: what can be operated has a role and a name.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from app.web.participant import start_page
from tests.browser.axe import Audit
from tests.browser.visitor import Visitor
from tests.fakes.served import Process
from tests.web.screens import SCREENS

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
SPACED = """() => {
  const own = new CSSStyleSheet(), page = document.documentElement;
  own.replaceSync(`* {
    line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important;
  }`);
  document.adoptedStyleSheets = [own];
  const wide = page.scrollWidth - page.clientWidth;
  document.adoptedStyleSheets = [];
  return wide;
}"""
"""How much too wide a page is with what somebody may set for themselves (WCAG 1.4.12)."""
AROUND = sorted(path.name for path in Path(start_page.__file__).with_name("pages").glob("[!b]*.html.j2"))


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen(screens: Callable[[str], Page], audit: Audit, name: str) -> None:
    page = screens(name)
    audit(page)
    assert page.evaluate(SPACED) <= 0


@pytest.mark.parametrize("template", AROUND)
def test_a_page_around_a_study(
    stage: str, new_context: Callable[..., BrowserContext], audit: Audit, soak: bool, seed: int, template: str
) -> None:
    """Those that are met before a study and in place of one: start, closed, once only, nobody's link, and so on; each
    in one of two languages, with --soak in both."""
    known: dict[str, Any] = {
        "title": "A study",
        "contact": "ann@example.org",
        "returns": False,
        "ended": False,
        "ticket": "t",
        "framed": "",
        "note": "Wait.",
        "recruiters": ["Prolific"],
    }
    known["choices"] = [
        {"tag": "en", "name": "English", "direction": "ltr", "link": "?lang=en"},
        {"tag": "ar", "name": "العربية", "direction": "rtl", "link": "?lang=ar"},
    ]
    page = new_context().new_page()
    for language in ("en", "ar") if soak else random.Random(f"{seed} {template}").choices(("en", "ar")):
        body = bytes(start_page.render_page(template, language, **known).body)
        page.route("**/around", lambda route, request, body=body: route.fulfill(body=body, content_type="text/html"))
        page.goto(f"{stage}/around")
        assert page.locator("html").get_attribute("lang") == language
        audit(page)


@pytest.mark.soak
@pytest.mark.parametrize("study", ["demo", "arena", "short", "dices-350"])
def test_a_whole_study(fast: Process, new_context: Callable[..., BrowserContext], audit: Audit, study: str) -> None:
    """From the start page to the completion code, on the real server with its Content-Security-Policy; the short run
    has it in test_keyboard_and_ear."""
    page = new_context(reduced_motion="reduce").new_page()
    page.goto(f"{fast.url}/s/{study}")
    audit(page)
    visitor = Visitor(page, fast.url, audit)
    visitor.arrive(study)
    page.locator("[data-open=leave]").click()
    audit(page)
    page.keyboard.press("Escape")
    visitor.finish()
    assert visitor.complaints == []
