"""Every screen of participants by axe-core: no violation of WCAG 2.2 A or AA, nor of its best practice, and nothing
scrolls sideways.

In short half of the screens, drawn by the run's seed, are seen each in one of six looks, and a third of these by
axe-core; with --soak all in all looks. Each is also read as a screen reader reads it: what can be operated has a role
and a name. And what is clicked or tapped is large enough.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from app.web.participant import start_page
from tests.browser.axe import LOOKS, TOO_WIDE, Audit, nameless
from tests.browser.waiting import settled
from tests.web.screens import SCREENS

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
# How much too wide a page is with what somebody may set for themselves (WCAG 1.4.12).
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
TURNS, BY_AXE, MOST_AROUND = 4, 1 / 3, 5
LEAST_PX = 44
SMALL = """(least) => {
  const targets = "button, a.button, summary, select, textarea, label.option, input:not([type=hidden], label.option *)";
  return [...document.querySelectorAll(targets)].filter((one) => one.checkVisibility({ visibilityProperty: true }))
    .map((one) => [one, one.getBoundingClientRect()])
    .filter(([, box]) => box.width && box.height && (box.width < least - 0.5 || box.height < least - 0.5))
    .map(([one, box]) => `${one.cloneNode(false).outerHTML.slice(0, 90)} ${box.width}x${box.height}`);
}"""
RADIOS = """() => [...new Set([...document.querySelectorAll("#left input[type=radio], #side input[type=radio]")]
  .filter((one) => one.checkVisibility())
  .map((one) => `${one.offsetWidth} ${one.offsetHeight} ${getComputedStyle(one).opacity}`))]"""
PAGES = [one for one in Path(start_page.__file__).with_name("pages").glob("*.j2") if "{% extends" in one.read_text()]
AROUND = sorted((one.name, one.stem) for one in PAGES if one.name != "notice.html.j2")
AROUND += [("notice.html.j2", name) for name in sorted(start_page.NOTICES)]


@pytest.mark.parametrize("turn", range(TURNS))
def test_screens(screens: Callable[[str], Page], audit: Audit, soak: bool, seed: int, turn: int) -> None:
    chance = random.Random(seed)
    drawn = [*SCREENS] if soak else chance.sample([*SCREENS], len(SCREENS) // 2)
    for name in drawn[turn::TURNS]:
        print(name)
        page, by_axe = screens(name), soak or chance.random() < BY_AXE
        if by_axe:
            audit(page)
        for look in LOOKS if soak else [chance.choice(LOOKS)]:
            look.put_on(page)
            settled(page)
            assert max(page.evaluate(TOO_WIDE), page.evaluate(SPACED)) <= 0, name
        assert by_axe or nameless(page) == [], name
        for width in (1280, 390) if soak else [chance.choice((1280, 390))]:
            page.set_viewport_size({"width": width, "height": 800})
            settled(page)
            assert page.evaluate(SMALL, LEAST_PX) == [], name
            assert len(page.evaluate(RADIOS)) <= 1, f"radios of {name} look alike"


def test_the_pages_around_a_study(
    stage: str, new_context: Callable[..., BrowserContext], audit: Audit, soak: bool, seed: int
) -> None:
    """Those that are met before a study and in place of one: start, closed, once only, nobody's link, and so on; in
    short some, each in one of two languages."""
    known: dict[str, Any] = {
        "title": "A study",
        "contact": "ann@example.org",
        "returns": False,
        "ended": False,
        "withdrawn": False,
        "ticket": "t",
        "framed": "",
        "note": "Wait.",
        "recruiters": ["Prolific"],
        "code": True,
        "waves": False,
        "reminded": True,
        "asks": True,
        "mailed": True,
        "over": False,
        "back": "/s/a?return=b",
        "fault": True,
    }
    known["part"] = {
        "heading": "Part 2",
        "closed": False,
        "done": False,
        "upcoming": True,
        "pilot": False,
        "help": True,
        "code": "ONE",
        "wait_ms": 60_000,
        "times": (datetime(2026, 1, 1, 9, tzinfo=UTC), None),
        "zone": "Europe/Berlin",
        "link": "http://127.0.0.1/s/a?return=b",
        "calendar": "/s/a/calendar?return=b",
        "reminders": "a/reminders?return=b",
    }
    known["choices"] = [
        {"tag": "en", "name": "English", "direction": "ltr", "link": "?lang=en"},
        {"tag": "ar", "name": "العربية", "direction": "rtl", "link": "?lang=ar"},
    ]
    page, chance = new_context().new_page(), random.Random(seed)
    shown = [(template, language) for template in AROUND for language in ("en", "ar")]
    if not soak:
        shown = [(one, chance.choice(("en", "ar"))) for one in chance.sample(AROUND, MOST_AROUND)]
    for (template, name), language in shown:
        body = bytes(start_page.render_page(template, language, **known, page=name).body)
        page.route("**/around", lambda route, request, body=body: route.fulfill(body=body, content_type="text/html"))
        page.goto(f"{stage}/around")
        print(template, name, language)
        assert page.locator("html").get_attribute("lang") == language
        audit(page)
