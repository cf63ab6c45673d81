"""Tables, formulas and scrolling on the participants' page."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.waiting import settled, until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
Screens = Callable[[str], Page]
BROKEN_WORDS = """() => [...document.querySelectorAll("#chat :is(th, td)")].flatMap((cell) => {
  const range = document.createRange();
  const node = cell.firstChild;
  return [...node.data.matchAll(/\\S+/g)].filter((word) => {
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;
  }).map(([word]) => word);
})"""
AT_END = """() => {
  const log = document.querySelector("#chat [role=log]");
  return log.scrollHeight - log.scrollTop - log.clientHeight < 5;
}"""
STILL = """async () => {
  const log = document.querySelector("#chat [role=log]"), at = log.scrollTop;
  await new Promise((next) => setTimeout(next, 200));
  return log.scrollTop === at;
}"""
TURN = "dir => document.querySelectorAll('html, .block[dir]').forEach((one) => one.dir = dir)"
EDGE = """(one) => {
  const words = document.createRange();
  words.selectNodeContents(one);
  return Math.round(words.getBoundingClientRect().right - one.parentElement.getBoundingClientRect().right);
}"""
TOP = "one => one.getBoundingClientRect().top"
GROW = """async () => {
  window.parley.atEnd(() => document.querySelector("#chat [role=log]").lastElementChild.append(
    Object.assign(document.createElement("p"), { textContent: "More words. ".repeat(40) })));
}"""


def test_a_table_in_a_reply_scrolls_and_keeps_its_words_and_its_alignment(screens: Screens) -> None:
    page = screens("chat-table")
    page.set_viewport_size({"width": 390, "height": 800})
    settled(page)
    assert page.evaluate(BROKEN_WORDS) == []
    cells = page.locator("#chat tbody tr").first.locator("td")
    aligned = cells.evaluate_all("all => all.map((one) => getComputedStyle(one).textAlign)")
    assert (aligned[0], aligned[1], aligned[4]) == ("left", "center", "right")
    for wide in (page.locator("#chat .wide"), page.locator("#chat .message:last-child .formula")):
        expect(wide).to_have_attribute("tabindex", "0")
        expect(wide).to_have_attribute("data-more", "")
        wide.evaluate("one => one.scrollTo(one.scrollWidth, 0)")
        expect(wide).not_to_have_attribute("data-more", "")
        assert wide.evaluate("one => one.scrollLeft") > 0


def test_scrolling_up_by_a_little_is_respected_while_a_reply_grows(screens: Screens) -> None:
    page = screens("chat-table")
    page.set_viewport_size({"width": 1280, "height": 800})
    settled(page)
    page.evaluate(GROW)
    until(page, AT_END)
    page.locator("#chat [role=log]").hover()
    page.mouse.wheel(0, -20)
    until(page, f"() => !({AT_END})()")
    until(page, STILL)
    at = page.locator("#chat [role=log]").evaluate("log => log.scrollTop")
    page.evaluate(GROW)
    settled(page)
    assert page.locator("#chat [role=log]").evaluate("log => log.scrollTop") == at
    page.locator("#chat .newest").click()
    until(page, AT_END)
    expect(page.locator("#chat .newest")).to_be_hidden()
    page.evaluate(GROW)
    until(page, AT_END)


def test_a_reply_that_fails_leaves_the_conversation_where_somebody_reads_it(screens: Screens) -> None:
    page = screens("consent")
    page.set_viewport_size({"width": 1280, "height": 800})
    page = screens("chat-refused")
    until(page, AT_END)
    log = page.locator("#chat [role=log]")
    log.hover()
    page.mouse.wheel(0, -200)
    until(page, f"() => !({AT_END})()")
    until(page, STILL)
    at = log.evaluate("log => log.scrollTop")
    page = screens("chat-failed")
    expect(page.locator("#side .failed")).to_be_in_viewport()
    assert log.evaluate("log => log.scrollTop") == at


def test_formulas_that_are_too_wide_scroll_within_a_line_and_an_option(screens: Screens) -> None:
    page = screens("wide-formulas")
    page.set_viewport_size({"width": 390, "height": 800})
    settled(page)
    for wide in page.locator("#left :is(.formula, math:not([display=block]))").all():
        expect(wide).to_have_attribute("tabindex", "0")
        expect(wide).to_have_attribute("data-more", "")
        assert wide.evaluate("one => one.getBoundingClientRect().right <= innerWidth")
        wide.evaluate("one => one.scrollTo(one.scrollWidth, 0)")
        expect(wide).not_to_have_attribute("data-more", "")
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(page.locator("#left :is(.formula, math)[tabindex]")).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 390])
def test_the_end_of_the_reply_is_in_view_above_its_rating(screens: Screens, width: int) -> None:
    page = screens("consent")
    page.set_viewport_size({"width": width, "height": 800})
    page = screens("chat-rate")
    until(page, "document.querySelector('#side form')")
    until(page, AT_END)
    until(page, "document.querySelector('#chat [role=log]').clientHeight > 100")


def test_the_characters_that_are_left_are_counted_near_the_limit(screens: Screens) -> None:
    page = screens("chat")
    room, box = page.locator("[data-room]"), page.locator("#box textarea")
    box.fill("x" * (int(room.get_attribute("data-room") or 0) - 7))
    expect(room).to_contain_text("7")
    box.fill("")
    expect(room).to_be_empty()


SIZES = [(1366, 650), (1280, 800), (1440, 900), (1024, 768), (390, 660), (320, 568)]
# By screen with a rating, what is rated.
JUDGED = {
    "chat-rate": "#chat .message.bot:last-of-type .text",
    "compare-vote": "#talk .round:last-child .bot .text",
    "compare-scores": "#talk .round:last-child .bot .text",
    "rate-dialogue": ".judged .text",
    "rate-turns": ".transcript .bot .text",
    "label-turns": ".transcript .you .text",
    "rank": ".transcript .bot .text",
    "survey": "",
    "instruments": "",
    "confidence": ".problem .text",
}
# Points of scales, and ends of what is rated, to which scrolling the page does not lead, and what scrolls besides.
UNSEEN = """(judged) => {
  const found = [];
  const box = (one) => one.getBoundingClientRect();
  const bring = (y) => scrollTo(0, scrollY + y - (innerHeight + headEnd()) / 2);
  const headEnd = () => Math.max(0, getComputedStyle(head).position === "sticky" ? box(head).bottom : 0);
  const head = document.querySelector("#head");
  const seen = (one, y) => {
    const { left, right } = box(one);
    const hit = document.elementFromPoint((Math.max(0, left) + Math.min(innerWidth, right)) / 2, y);
    return hit !== null && one.contains(hit);
  };
  const middle = (one) => (box(one).top + box(one).bottom) / 2;
  const around = (one) => {
    for (let at = one.parentElement; at && at !== document.documentElement; at = at.parentElement) {
      const scrolls = getComputedStyle(at).overflowY !== "visible" && at.scrollHeight > at.clientHeight + 1;
      if (scrolls) found.push(`scrolls: ${at.id || at.className}`);
    }
  };
  const words = (one) => one.textContent.trim().slice(0, 30) || one.id;
  const scales = [...document.querySelectorAll("form[data-act] [data-field], .votes")];
  for (const scale of scales) {
    const points = [...scale.querySelectorAll(".option, [type=range], textarea, input[type=text], .votes button")];
    if (!points.length) found.push(`no points: ${words(scale)}`);
    around(points[0]);
    for (const point of points) {
      bring(middle(point));
      if (!seen(point, middle(point))) found.push(`out of reach: ${words(point)}`);
    }
    const top = Math.min(...points.map((one) => box(one).top));
    const bottom = Math.max(...points.map((one) => box(one).bottom));
    const fits = bottom - top < innerHeight - headEnd();
    if (!fits && scale.dataset.control === "checkbox") continue; // a list, and no scale
    bring((top + bottom) / 2);
    for (const point of points) if (!seen(point, middle(point))) found.push(`not beside the others: ${words(point)}`);
  }
  if (!scales.length) found.push("no scale");
  const rated = judged ? [...document.querySelectorAll(judged)] : [];
  if (judged && !rated.length) found.push("nothing is rated");
  for (const text of rated) {
    around(text);
    for (const part of [text.firstElementChild, text.lastElementChild]) {
      part.scrollIntoView({ block: "nearest", inline: "nearest" });
      bring(middle(part));
      if (!seen(text, middle(part))) found.push(`cannot be read: ${words(part)}`);
    }
  }
  return found;
}"""


@pytest.mark.nightly
@pytest.mark.parametrize("name", JUDGED)
def test_all_points_of_a_scale_are_in_sight_and_what_is_rated_can_be_read(screens: Screens, name: str) -> None:
    found = []
    for width, height in SIZES:
        page = screens("consent")
        page.set_viewport_size({"width": width, "height": height})
        page = screens(name)
        found += [f"{width}x{height}: {what}" for what in page.evaluate(UNSEEN, JUDGED[name])]
    assert found == []


COLUMNS = """() => [...document.querySelectorAll(".matrix")].map((table) => {
  const middles = (all) => [...all].filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect())
    .map(({ left, right }) => Math.round((left + right) / 2));
  const rows = [...table.querySelectorAll(".field")].map((row) => middles(row.querySelectorAll(".option")));
  return { labels: middles(table.querySelectorAll(".column")), rows };
})"""


@pytest.mark.nightly
@pytest.mark.parametrize("width", [700, 1280, 390])
def test_the_labels_of_a_table_are_once_above_its_columns_where_there_is_room(screens: Screens, width: int) -> None:
    page = screens("consent")
    page.set_viewport_size({"width": width, "height": 800})
    page = screens("instruments")
    for table, points in zip(page.evaluate(COLUMNS), (7, 5), strict=True):
        if width < 700:
            assert table["labels"] == []
            assert {len(set(row)) for row in table["rows"]} == {7 if points == 7 else 1}, "a row of numbers, or a list"
        else:
            assert len(table["labels"]) == points
            assert all(row == pytest.approx(table["labels"], abs=1) for row in table["rows"])


@pytest.mark.parametrize(("name", "slots"), [("compare-vote", 2), ("compare-scores", 3)])
def test_on_a_phone_the_replies_of_several_models_say_their_number_and_come_before_the_vote(
    screens: Screens, name: str, slots: int
) -> None:
    page = screens("consent")
    page.set_viewport_size({"width": 390, "height": 660})
    page = screens(name)
    heads = page.locator("#talk .round:last-child .replies .who")
    numbers = heads.evaluate_all("all => all.map((one) => getComputedStyle(one, '::after').content)")
    assert numbers == [f'"{number + 1}/{slots}"' for number in range(slots)]
    page.evaluate("scrollTo(0, 0)")
    ends = heads.last.evaluate("one => one.closest('article').getBoundingClientRect().bottom")
    assert ends <= page.locator("#side .ballot").evaluate(TOP)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.nightly
def test_on_a_page_from_right_to_left_each_question_begins_where_its_answer_does(screens: Screens) -> None:
    page = screens("survey")
    page.evaluate(TURN, "rtl")
    settled(page)
    short = page.locator("[data-control=slider], [data-control=number], [data-control=short]").locator("> .question")
    assert set(short.evaluate_all(f"all => all.map({EDGE})")) == {0}
    page.evaluate(TURN, "ltr")


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_the_head_has_the_whole_title_in_two_rows_and_the_bar_its_whole_button(
    screens: Screens, width: int
) -> None:
    page = screens("consent")
    page.set_viewport_size({"width": width, "height": 660})
    page = screens("chat-answer")
    title, onward = page.locator("#head .study"), page.locator("#sheet-bar > button")
    title.evaluate("one => one.textContent = 'Shopping sums with a chatbot'")
    onward.evaluate("one => one.textContent = 'Done with interaction'")
    settled(page)
    assert page.locator("#head .masthead").bounding_box()["height"] <= 88  # type: ignore[index]
    for one in (title, onward):
        assert not one.evaluate("one => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight")


def ending(ms: int) -> Callable[[Route], None]:
    """Let a screen end in so many milliseconds."""

    def ends(route: Route) -> None:
        answer = route.fetch()
        told = answer.json()
        route.fulfill(response=answer, json=told | {"timing": {**told["timing"], "warns_ms": ms, "ends_ms": ms}})

    return ends


def test_a_clock_runs_in_the_last_hour(screens: Screens) -> None:
    page = screens("consent")
    for minutes, shown in ((61, False), (59, True)):
        page.route("**/api/look", ending(minutes * 60_000))
        screens("survey")
        expect(page.locator("#clock")).to_have_text(re.compile("." if shown else "^$"))
        page.unroute_all()


def test_the_warning_that_time_runs_out_moves_nothing(screens: Screens) -> None:
    """It is for the ear: the clock in the head says the same to the eye."""
    page = screens("survey")
    page.set_viewport_size({"width": 390, "height": 660})
    page.locator("#clock").evaluate("one => one.textContent = 'Time left: 0:15'")
    settled(page)
    places = [page.locator(place) for place in ("#clock", "#heading")]
    before = [place.bounding_box() for place in places]
    page.locator("#alarm span").evaluate("one => one.textContent = 'You have 15 seconds left on this page.'")
    settled(page)
    assert [place.bounding_box() for place in places] == before
    assert page.locator("#alarm").get_attribute("role") == "status"
