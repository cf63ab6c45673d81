"""A whole study without a mouse, without eyes, enlarged, and without motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.axe import LOOKS, TOO_WIDE, Look, nameless
from tests.browser.broken import cut_after
from tests.browser.senses import attend
from tests.browser.visitor import COMPARED, KeyboardVisitor, Visitor
from tests.browser.waiting import settled, until
from tests.fakes.served import Process
from tests.web.gallery import on_stage

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NewContext = Callable[..., BrowserContext]
STOPS = """() => {
  const at = document.activeElement;
  return at === document.body ? "" : at.name || at.id || at.tagName;
}"""


@pytest.fixture(scope="module")
def stage() -> Iterator[str]:
    """The gallery of screens."""
    with on_stage() as url:
        yield url


def show(page: Page, stage: str, name: str) -> None:
    page.goto(f"{stage}/show/{name}")
    until(page, "document.documentElement?.dataset.ready === 'yes'")
    settled(page)


# ---- Without a mouse


@pytest.mark.parametrize(
    ("study", "look"),
    [("demo", LOOKS[0]), pytest.param("dices", LOOKS[3], marks=pytest.mark.soak), ("arena", LOOKS[0])],
    ids=str,
)
def test_a_whole_study_by_keyboard_where_it_is_can_always_be_seen(
    fast: Process, new_context: NewContext, study: str, look: Look
) -> None:
    """Every control is reached by Tab, and has a ring of two pixels or more, at 3:1, and nothing before it; each screen
    begins at its heading (`arrived_from`)."""
    page = new_context(reduced_motion="reduce").new_page()
    senses = attend(page)
    look.put_on(page)
    visitor = KeyboardVisitor(page, fast.url, lambda page: check_names(page))
    visitor.arrive(study)
    visitor.finish()
    assert len(senses.focused) > 20
    assert senses.blind_spots() == []
    assert visitor.complaints == []


def check_names(page: Page) -> None:
    """All that can be operated has a name, and the screen one heading of the first order."""
    settled(page)
    assert nameless(page) == []
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("main").count() == 1


@pytest.mark.parametrize("name", ["survey", "rate-turns", "rate-dialogue", "guess"])
def test_a_group_of_options_is_one_stop(stage: str, new_context: NewContext, name: str) -> None:
    page = new_context().new_page()
    show(page, stage, name)
    radios = page.locator("#left input[type=radio]").evaluate_all("all => [...new Set(all.map(one => one.name))]")
    page.locator("#heading").focus()
    stops = []
    for _ in range(200):
        page.keyboard.press("Tab")
        stops.append(str(page.evaluate(STOPS)))
        if stops[-1] in ("", "BODY"):
            break
    assert radios
    assert {one: stops.count(one) for one in radios} == dict.fromkeys(radios, 1)


def test_what_scrolls_is_reached_by_the_keyboard(stage: str, new_context: NewContext) -> None:
    page = new_context(viewport={"width": 320, "height": 700}).new_page()
    show(page, stage, "chat-talk")
    formula = page.locator("#left math[tabindex]").first
    formula.focus()
    page.keyboard.press("ArrowRight")
    until(page, "() => document.activeElement.scrollLeft > 0")
    page.set_viewport_size({"width": 1280, "height": 700})
    expect(page.locator("#left math[tabindex]")).to_have_count(0)


# ---- Without eyes


def test_a_reply_is_told_once_it_is_whole(slow: Process, new_context: NewContext) -> None:
    """That it is being written, then all of it, and in between none of its pieces; what is saved, and what is amiss."""
    page = new_context().new_page()
    senses = attend(page)
    visitor = KeyboardVisitor(page, slow.url)
    visitor.arrive("demo")
    visitor.until("chat")
    senses.said.clear()
    visitor.type_message("  ")
    visitor.send()
    expect(page.locator("#note")).to_have_text("Please write a message first.")
    with page.expect_response("**/api/draft"):
        visitor.type_message("Please explain the Pythagorean theorem.")
    expect(page.locator("#saved")).to_have_text("Draft saved")
    visitor.send()
    expect(page.locator("#chat [role=log]")).to_have_attribute("aria-busy", "true")
    visitor.hear_out()
    expect(page.locator("#chat [role=log]")).to_have_attribute("aria-busy", "false")
    page.wait_for_timeout(600)
    title = page.locator("#chat [role=log]").get_attribute("aria-label")
    last = visitor.reply.split()[-1]
    told = [words for words in senses.said if words in ("Writing…",) or words.startswith(f"{title}: ")]
    assert told[0] == "Writing…"
    assert len(told) == 2
    assert last in told[1]
    assert "Please write a message first." in senses.said
    assert senses.said.count("Draft saved") == 1
    assert [words for words in senses.said if words.startswith("(log)") and last not in words][1:] == []


def test_replies_side_by_side_are_told_by_their_letters(fast: Process, new_context: NewContext) -> None:
    page = new_context().new_page()
    senses = attend(page)
    visitor = Visitor(page, fast.url)
    visitor.arrive("arena")
    visitor.until("two AI assistants")
    visitor.ask_both("Please explain the Pythagorean theorem.")
    until(visitor.page, COMPARED)
    page.wait_for_timeout(600)
    (told,) = [words for words in senses.said if words.startswith("A: ")]
    assert " B: " in told
    assert senses.said.index("Writing…") < senses.said.index(told)


@pytest.mark.parametrize("name", ["chat-failed", "compare-failed", "check-again"])
def test_what_failed_is_an_alert(stage: str, new_context: NewContext, name: str) -> None:
    page = new_context().new_page()
    show(page, stage, name)
    assert page.get_by_role("alert").first.inner_text().strip()


def test_a_fault_is_told_where_it_is(stage: str, new_context: NewContext) -> None:
    """The first field with one has the focus, is said to be wrong, and is described by what is wrong."""
    page = new_context().new_page()
    show(page, stage, "survey")
    visitor = Visitor(page, stage)
    visitor.fill_in()
    page.locator("[name=age]").fill("7")
    visitor.press(page.locator("#left form button[type=submit]"))
    expect(page.locator("[name=age]")).to_be_focused()
    expect(page.locator("[name=age]")).to_have_attribute("aria-invalid", "true")
    tree = page.locator("[data-field=age]").aria_snapshot()
    described = str(page.locator("[name=age]").get_attribute("aria-describedby")).split()
    words = page.locator(f"#{described[0]}").inner_text()
    assert "18" in words, tree
    expect(page.locator("#note")).to_contain_text("Please look at the answers marked below.")


# ---- Enlarged, and without motion


@pytest.mark.parametrize("study", [pytest.param("short", marks=pytest.mark.soak), "arena"])
def test_enlarged_to_twice_the_size(fast: Process, new_context: NewContext, study: str) -> None:
    """As a window of 1280 by 800 is at 200 %: half as wide and high, each pixel twice as large."""
    page = new_context(viewport={"width": 640, "height": 400}, device_scale_factor=2).new_page()
    visitor = KeyboardVisitor(page, fast.url, fits)
    visitor.arrive(study)
    visitor.finish()


def fits(page: Page) -> None:
    """Nothing makes the page scroll sideways, and nothing is cut off that could not be reached."""
    assert page.evaluate(TOO_WIDE) <= 0, page.locator("#heading").inner_text()
    assert page.locator("#head").evaluate("one => getComputedStyle(one).position") == "static", "it covers what is read"


@pytest.mark.parametrize(("motion", "moves"), [("no-preference", True), ("reduce", False)])
def test_nothing_moves_for_whom_motion_is_unwelcome(
    slow: Process, new_context: NewContext, motion: str, moves: bool
) -> None:
    """The one thing that moves is the sign that a reply is being written."""
    page = new_context(reduced_motion=motion).new_page()
    visitor = Visitor(page, slow.url)
    visitor.arrive("short")
    visitor.until("chat")
    held: list[Route] = []
    page.route("**/api/act", cut_after("screen"))
    page.route("**/api/reply*", lambda route: held.append(route))
    visitor.type_message("Hello?")
    with page.expect_request("**/api/reply*"):
        visitor.send()
    expect(page.locator("#chat .typing")).to_be_visible()
    running = page.evaluate("document.getAnimations().filter((one) => one.playState === 'running').length")
    assert (running > 0) is moves
    held[0].continue_()
    visitor.hear_out()
