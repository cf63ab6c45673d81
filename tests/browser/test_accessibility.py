"""Every screen by axe-core: no violation of WCAG 2.2 A or AA, nor of its best practice, and nothing scrolls sideways.

In short each screen is seen in one of six looks, in turn; with --soak in all of them. Each is also read as a screen
reader reads it: what can be operated has a role and a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from app.web import arrival
from tests.browser.axe import LOOKS, TOO_WIDE, Look, faults, nameless
from tests.browser.filled import DRAFT, STUDY, filled
from tests.browser.researcher import LONG_MS, AtConsole
from tests.browser.visitor import Visitor
from tests.browser.waiting import MOST_S, quiet, settled, until
from tests.fakes.accounts import GOOD
from tests.fakes.served import Process
from tests.web.gallery import on_stage
from tests.web.screens import SCREENS

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
Audit = Callable[[Page, int], None]
SPACED = "* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important }"
"""What somebody may set for themselves (WCAG 1.4.12)."""
AROUND = sorted(path.name for path in Path(arrival.__file__).with_name("pages").glob("[!b]*.html.j2"))


@pytest.fixture
def audit(soak: bool) -> Audit:
    """Look at a page in the look whose turn it is, or in all."""

    def look_at(page: Page, turn: int) -> None:
        found: list[str] = []
        for look in LOOKS if soak else LOOKS[turn % len(LOOKS) :][:1]:
            look.put_on(page)
            quiet(page)
            found += [f"{look}: {fault}" for fault in (*faults(page), *nameless(page))]
        assert not found, "\n".join(found)

    return look_at


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


# ---- Participants


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


# ---- Researchers


@pytest.fixture(scope="module")
def ada(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtConsole]:
    folder = tmp_path_factory.mktemp("filled")
    with filled(folder) as console:
        context = browser.new_context(reduced_motion="reduce")
        made = AtConsole(context.new_page(), console.url)
        made.log_in("Ada", GOOD)
        yield made
        context.close()


ROOMS = {
    "studies": (f"study={STUDY}&tab=studies", "", "#bench"),
    "walk": (f"study={STUDY}&tab=studies", "Walk through", "#walk-go"),
    "versions": (f"study={STUDY}&tab=studies", "Versions", "#version-shown pre"),
    "write": (f"study={DRAFT}&tab=studies", "Write", "#study-text .cm-line"),
    "live": (f"study={STUDY}&tab=live", "", "#live-body table"),
    "sessions": (f"study={STUDY}&tab=sessions", "", "#sessions-list table"),
    "session": (f"study={STUDY}&tab=sessions&session=1", "", "#session-story .visit"),
    "replay": (f"study={STUDY}&tab=sessions&session=1", "Replay", "#session-page iframe"),
    "data": (f"study={STUDY}&tab=data", "", "#data-preview table"),
    "results": (f"study={STUDY}&tab=results", "", "#results-plot-0 .marks"),
    "people": (f"study={STUDY}&tab=people", "", "#people-deeds table"),
    "nothing": ("study=nowhere&tab=live", "", "#rooms"),
}
"""Where each is, the tab within it, and what shows that it is painted."""


@pytest.mark.parametrize(("turn", "room"), list(enumerate(ROOMS)), ids=list(ROOMS))
def test_a_room(ada: AtConsole, audit: Audit, turn: int, room: str) -> None:
    place, part, painted = ROOMS[room]
    LOOKS[turn % len(LOOKS)].put_on(ada.page)
    enter(ada, place, part, painted)
    quiet(ada.page)
    audit(ada.page, turn)


def enter(ada: AtConsole, place: str, part: str, painted: str) -> None:
    """Go to a place of the console; on a narrow screen the last tabs are in a menu."""
    look = ada.page.viewport_size
    ada.page.set_viewport_size({"width": 1280, "height": 800})
    ada.page.goto(f"{ada.url}/?{place}")
    if part:
        ada.open(part)
    ada.page.locator(painted).first.wait_for()
    ada.page.set_viewport_size(look or {"width": 1280, "height": 800})


@pytest.mark.parametrize("turn", [0, 4])
def test_the_page_before_the_console(ada: AtConsole, page: Page, audit: Audit, turn: int) -> None:
    page.goto(ada.url)
    audit(page, turn)
    page.get_by_label("Name").fill("nobody")
    page.get_by_label("Password").fill("nothing that is right")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()
    audit(page, turn + 1)


def test_the_report_and_the_page_that_waits_for_it(ada: AtConsole, audit: Audit) -> None:
    ada.page.route("**/console/waiting.js", lambda route: route.abort())  # or it is replaced while it is looked at
    ada.page.goto(f"{ada.url}/report/{STUDY}?origin=bot")
    expect(ada.page.get_by_role("heading", name="The report is being computed")).to_be_visible()
    audit(ada.page, 2)
    ada.page.unroute("**/console/waiting.js")
    ada.page.reload()
    expect(ada.page.locator("#participants")).to_be_visible(timeout=LONG_MS)
    audit(ada.page, 0)
    Look("light", 320).put_on(ada.page)
    assert ada.page.evaluate(TOO_WIDE) <= 0


def test_a_group_of_options_in_the_console_is_one_stop_with_arrows(ada: AtConsole) -> None:
    """Gradio gives each option a name of its own; console.js mends it, and Gradio still hears of the choice."""
    enter(ada, *ROOMS["live"])
    group = ada.page.get_by_role("radiogroup", name="Whose sessions")
    group.get_by_role("radio", name="Simulated").focus()
    ada.page.keyboard.press("ArrowLeft")
    expect(group.get_by_role("radio", name="Pilot")).to_be_checked()
    ada.reads("live-head", "Nobody has come yet")
    ada.page.keyboard.press("ArrowRight")
    expect(group.get_by_role("radio", name="Simulated")).to_be_checked()
    ada.page.keyboard.press("Tab")
    assert not group.evaluate("group => group.contains(document.activeElement)")


def test_the_editor_is_no_trap(ada: AtConsole) -> None:
    enter(ada, *ROOMS["write"])
    text = ada.page.get_by_role("textbox", name="Esc, then Tab")
    text.focus()
    ada.page.keyboard.press("Escape")
    ada.page.keyboard.press("Tab")
    assert not text.evaluate("text => text.contains(document.activeElement)")
