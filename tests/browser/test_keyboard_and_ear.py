"""A whole study without a mouse, without eyes, enlarged, and without motion."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app.web.participant.view import PAGE_WORDS
from experiments.study.screen import MESSAGE_DRAFT
from tests.browser.axe import LOOKS, TOO_WIDE, Audit, nameless
from tests.browser.senses import attend
from tests.browser.told import newest_facts
from tests.browser.visitor import KeyboardVisitor, Visitor
from tests.browser.waiting import quiet, settled, until
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
NewContext = Callable[..., BrowserContext]
Screens = Callable[[str], Page]
STOPS = """() => {
  const at = document.activeElement;
  return at === document.body ? "" : at.name || at.id || at.tagName;
}"""


# ---- Without a mouse


@pytest.mark.parametrize(
    "study", ["short", *(pytest.param(one, marks=pytest.mark.soak) for one in ("demo", "dices-350"))]
)
def test_a_whole_study_by_keyboard_where_it_is_can_always_be_seen(
    fast: Process, new_context: NewContext, audit: Audit, soak: bool, study: str
) -> None:
    """Every control is reached by Tab, and has a ring of two pixels or more, at 3:1, and nothing before it; each screen
    begins at its heading (`arrived_from`), and is as a screen reader wants it, and with --soak axe-core, which looks at
    screens in test_accessibility. The language is the study's and not the browser's. The first field with a fault has
    the focus, is said to be wrong, and described by what is.
    """
    page = new_context(reduced_motion="reduce", locale="ar" if study == "short" else "ja").new_page()
    senses = attend(page)

    def look_at(page: Page) -> None:
        if soak:
            audit(page)
            LOOKS[0].put_on(page)
        settled(page)
        assert (nameless(page), page.evaluate(TOO_WIDE)) == ([], 0)
        assert page.get_by_role("heading", level=1).count() == 1
        assert page.get_by_role("main").count() == 1
        assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == ["en", "ltr"]

    page.goto(f"{fast.url}/s/{study}")
    look_at(page)
    visitor = KeyboardVisitor(page, fast.url, look_at)
    visitor.arrive(study)
    if study == "short":
        visitor.until("How old are you")
        visitor.fill_in()
        age = page.locator("[name=age]")
        age.fill("7")
        visitor.press(page.locator("#left form button[type=submit]"))
        expect(age).to_be_focused()
        expect(age).to_have_attribute("aria-invalid", "true")
        (described, *_) = str(age.get_attribute("aria-describedby")).split()
        expect(page.locator(f"#{described}")).to_contain_text("18")
        before = visitor.mark
        page.keyboard.press("Control+A")
        page.keyboard.type("42")
        page.keyboard.press("Enter")
        visitor.arrived_from(before)
    visitor.finish()
    assert len(senses.focused) > 20
    assert senses.blind_spots() == []
    assert visitor.complaints == []


@pytest.mark.nightly
def test_two_models_side_by_side_by_keyboard_enlarged_and_told_by_their_letters(
    fast: Process, new_context: NewContext
) -> None:
    """As a window of 1280 by 800 is at 200 %: half as wide and high, each pixel twice as large; neither is named, and a
    reload keeps all."""
    page = new_context(
        viewport={"width": 640, "height": 400}, device_scale_factor=2, reduced_motion="reduce"
    ).new_page()
    senses = attend(page)
    visitor = KeyboardVisitor(page, fast.url, fits)
    visitor.arrive("arena")
    visitor.until("Two AI assistants")
    visitor.ask_both("Please explain the Pythagorean theorem.")
    until(page, "document.querySelector('#heard').textContent.startsWith('A: ')")
    visitor.vote("B is better")
    expect(page.locator("#talk .voted")).to_contain_text("B is better")
    visitor.ask_both("Why is that so?")
    visitor.reload()
    visitor.vote("Tie")
    assert page.locator("#talk .round").count() == 2
    assert not [name for name in ("careful", "hasty", "scripted") if name in page.content()]
    visitor.end_comparing()
    visitor.finish()
    assert "PARLEY-ARENA" in visitor.text
    told, *_ = [words for words in senses.said if words.startswith("A: ")]
    assert " B: " in told
    assert senses.said.index("Writing…") < senses.said.index(told)
    assert senses.blind_spots() == []
    assert visitor.complaints == []
    ordered = next(event for event in newest_facts(fast) if event.kind == "ordered")
    assert sorted(ordered.data["models"]) == ["careful", "hasty"]


def fits(page: Page) -> None:
    """Nothing makes the page scroll sideways, and nothing is cut off that could not be reached."""
    until(page, f"{TOO_WIDE} <= 0")
    expect(page.locator("#head"), "it covers what is read").to_have_css("position", "static")


@pytest.mark.parametrize(
    "name", ["survey", "rate-turns", *(pytest.param(one, marks=pytest.mark.soak) for one in ("rate-dialogue", "guess"))]
)
def test_a_group_of_options_is_one_stop(screens: Screens, name: str) -> None:
    page = screens(name)
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


# ---- Without eyes, and without motion


@pytest.mark.nightly
def test_a_reply_is_told_once_it_is_whole(slow: Process, new_context: NewContext) -> None:
    """That it is being written, then all of it, and in between none of its pieces; what is saved, and what is amiss."""
    page = new_context().new_page()
    senses = attend(page)
    visitor = Visitor(page, slow.url)
    visitor.arrive("demo")
    visitor.until("chat")
    log, box = page.locator("#chat [role=log]"), page.locator("#box textarea")
    senses.said.clear()
    box.fill("  ")
    box.press("Enter")
    expect(page.locator("#note .note")).to_be_visible()
    with page.expect_response("**/api/draft"):
        visitor.type_message("Please explain the Pythagorean theorem.")
    expect(page.locator("#saved")).not_to_be_empty()
    saved, title = page.locator("#saved").inner_text(), log.get_attribute("aria-label")
    box.press("Enter")
    expect(log).to_have_attribute("aria-busy", "true")
    visitor.hear_out()
    expect(log).to_have_attribute("aria-busy", "false")
    until(page, "title => document.querySelector('#heard').textContent.startsWith(title)", title)
    last = visitor.reply.split()[-1]
    writing, whole = [words for words in senses.said if words == "Writing…" or words.startswith(f"{title}: ")]
    assert writing == "Writing…"
    assert last in whole
    assert "Please write a message first." in senses.said
    assert senses.said.count(saved) == 1
    assert [words for words in senses.said if words.startswith("(log)") and last not in words][1:] == []


@pytest.mark.nightly
def test_nothing_moves_for_whom_motion_is_unwelcome(screens: Screens) -> None:
    """The one thing that moves is the sign that a reply is being written."""
    page = screens("chat-waiting")
    expect(page.locator("#chat .typing")).to_be_visible()
    running = "document.getAnimations().filter((one) => one.playState === 'running').length"
    page.emulate_media(reduced_motion="no-preference")
    until(page, f"{running} > 0")
    page.emulate_media(reduced_motion="reduce")
    until(page, f"{running} === 0")


AT_BODY = "document.activeElement === document.body"


@pytest.mark.nightly
def test_the_focus_is_never_lost_and_what_cannot_be_sent_yet_says_why(slow: Process, new_context: NewContext) -> None:
    """After the last message, its reply and its rating, each sent by the keyboard."""
    page = new_context().new_page()
    visitor = Visitor(page, slow.url)
    visitor.arrive("timed")
    visitor.until("chat")
    box = page.locator("#box textarea")
    box.fill("Hello")
    box.press("Enter")
    until(page, "document.documentElement.dataset.waiting === 'true'")
    expect(page.locator("#end-hint")).to_have_text(PAGE_WORDS["waits"])
    quiet(page)
    assert not page.evaluate(AT_BODY)
    visitor.hear_out()
    quiet(page)
    assert not page.evaluate(AT_BODY)
    expect(page.locator("#end-hint")).to_have_text(PAGE_WORDS["first"])
    visitor.fill_in("#side form")
    page.locator("#side form [type=submit]").press("Enter")
    page.locator("#side form").wait_for(state="detached")
    expect(page.locator("#left [type=submit]")).to_be_focused()
    expect(page.locator("#end-hint")).to_have_text("")


@pytest.mark.nightly
def test_what_is_typed_when_time_runs_out_goes_nowhere_else(slow: Process, new_context: NewContext) -> None:
    """Neither into the next question's box nor to its chatbot; a reply on its way is kept as it was shown."""
    page = new_context().new_page()
    visitor = Visitor(page, slow.url)
    visitor.arrive("timed")
    visitor.until("chat")
    visitor.say("Hello")
    visitor.hear_out()
    visitor.rate()
    visitor.go_on()
    before, box = visitor.mark, page.locator("#box textarea")
    visitor.say("Please explain.")
    expect(page.locator("#chat .message.bot .live")).to_contain_text("a")
    box.focus()
    for _ in range(2_000):
        page.keyboard.press("x")
        page.keyboard.press("Space")
        if visitor.mark != before:
            break
    page.keyboard.press("Enter")
    page.keyboard.type("yes")
    page.keyboard.press("Enter")
    expect(page.locator("#heading")).to_be_focused()
    expect(box).to_have_value("")
    box.click()
    page.keyboard.type("no half of it")  # at once, by who has seen that it is another page
    expect(box).to_have_value("no half of it")
    expect(page.locator("#left .notice")).to_be_visible()
    events = newest_facts(slow)
    *_, stopped, replied, expired = [event for event in events if event.path == "question[0]/chat"]
    assert (stopped.kind, replied.kind, expired.kind) == ("stopped", "replied", "expired")
    assert replied.data["finish_reason"] == "expired"
    assert expired.data["typed"][MESSAGE_DRAFT].startswith("x x")
    assert not [event for event in events if event.path == "question[1]/chat"]
