"""What the page says of what is saved, and what is sent after an answer did not come."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Error, Page, Route, expect

from app.web.participant.view import PAGE_WORDS
from tests.browser.told import count, newest_facts
from tests.browser.visitor import MARK, Visitor
from tests.browser.waiting import until
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]
NewContext = Callable[..., BrowserContext]
LONG_MS, KEY_MS, MOST_KEYS = 120_000, 300, 400
SEEN = (
    "getComputedStyle(document.querySelector('#saved')).opacity === '1' && document.querySelector('#saved').innerText"
)
DRAFTS, ACTS = "**/api/draft", "**/api/act"


@pytest.fixture
def visitor(fast: Process, new_context: NewContext) -> Visitor:
    """Somebody at the survey with a text to write."""
    return at(fast, new_context, "short", "What do you think")


@pytest.fixture
def chatting(fast: Process, new_context: NewContext) -> Visitor:
    """Somebody who may send a message."""
    return at(fast, new_context, "demo", "chat")


def at(server: Process, new_context: NewContext, study: str, words: str) -> Visitor:
    page = new_context(permissions=["clipboard-read", "clipboard-write"]).new_page()
    visitor = Visitor(page, server.url)
    visitor.arrive(study)
    visitor.until(words)
    return visitor


def refused(route: Route) -> None:
    """An answer that never comes: nothing arrives at the server."""
    route.fulfill(status=400, body="{}")


def lost(route: Route) -> None:
    """An answer that never comes, though the server has all of it."""
    route.fetch()
    route.fulfill(status=400, body="{}")


def again(page: Page) -> None:
    page.locator("#note [data-again]").wait_for(timeout=LONG_MS)


@pytest.mark.nightly
def test_a_question_may_be_called_as_a_field_of_the_page_is(visitor: Visitor) -> None:
    page = visitor.page
    for name in ("why", "call"):
        page.evaluate("name => document.querySelector('#left textarea').name = name", name)
        with page.expect_request(DRAFTS) as sent:
            page.locator(f"textarea[name={name}]").fill(f"Because of {name}.")
        assert sent.value.post_data_json["values"][name] == f"Because of {name}."


@pytest.mark.nightly
def test_saved_is_said_only_while_it_is_so_and_a_draft_that_failed_is_sent_again(visitor: Visitor) -> None:
    page, comment = visitor.page, visitor.page.locator("textarea[name=comment]")
    comment.fill("First words.")
    until(page, SEEN)
    page.route(DRAFTS, lambda route: route.abort())
    comment.fill("First words. Second words, offline.")
    until(page, f"!({SEEN})")
    expect(page.locator("#saved")).to_be_empty(timeout=LONG_MS)
    page.unroute(DRAFTS)
    until(page, SEEN)
    page.route(DRAFTS, lambda route: route.abort())  # nothing is left to be sent as the page is left
    visitor.reload()
    expect(comment).to_have_value("First words. Second words, offline.")


@pytest.mark.nightly
def test_leaving_asks_only_while_there_is_no_connection_and_words_are_unsaved(visitor: Visitor) -> None:
    page, comment, asked = visitor.page, visitor.page.locator("textarea[name=comment]"), list[str]()
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.context.set_offline(True)
    with pytest.raises(Error):
        page.reload()
    page.context.set_offline(False)
    visitor.reload()
    comment.press_sequentially("Online.")
    visitor.reload()
    expect(comment).to_have_value("Online.")
    assert asked == []
    page.context.set_offline(True)
    comment.press_sequentially("Offline.")
    with pytest.raises(Error):
        page.reload()
    page.context.set_offline(False)
    assert asked == ["beforeunload"]


@pytest.mark.nightly
def test_an_answer_that_the_server_does_not_take_is_no_missing_one(visitor: Visitor) -> None:
    page, hint = visitor.page, visitor.page.locator("#left [data-hint]")
    missing, mended = (PAGE_WORDS[name].replace("{count}", "1") for name in ("missing", "mended"))
    page.locator("[name=age]").fill("7")
    button = page.locator("#left form [type=submit]")
    visitor.press(button)
    expect(hint).to_have_text(f"{missing} · {mended}")
    page.locator("textarea[name=comment]").fill("Here it is.")
    expect(hint).to_have_text(mended)
    visitor.press(button)
    expect(visitor.note).not_to_have_text("")
    expect(hint).to_have_text(mended)


@pytest.mark.nightly
def test_whoever_types_without_a_pause_is_saved_too(visitor: Visitor) -> None:
    page, comment = visitor.page, visitor.page.locator("textarea[name=comment]")
    drafts: list[str] = []
    page.on("request", lambda request: drafts.append(request.url) if request.url.endswith("/api/draft") else None)
    comment.click()
    for _ in range(MOST_KEYS):
        page.keyboard.type("a")
        page.wait_for_timeout(KEY_MS)
        if drafts:
            return
    raise AssertionError(f"nothing was saved in {MOST_KEYS * KEY_MS / 1000} s")


@pytest.mark.nightly
def test_what_is_sent_again_is_what_is_on_the_screen(visitor: Visitor, fast: Process) -> None:
    page, comment = visitor.page, visitor.page.locator("textarea[name=comment]")
    visitor.fill_in()
    comment.fill("An old answer.")
    page.route(ACTS, refused)
    visitor.press(page.locator("#left form [type=submit]"))
    again(page)
    comment.fill("A new answer.")
    page.unroute(ACTS)
    before = visitor.mark
    page.locator("#note [data-again]").click()
    visitor.arrived_from(before)
    *_, submitted = (event for event in newest_facts(fast) if event.kind == "submitted")
    assert submitted.data["comment"] == "A new answer."


@pytest.mark.nightly
def test_a_message_whose_answer_was_lost_is_said_once_and_leaves_the_box(chatting: Visitor, fast: Process) -> None:
    page = chatting.page
    chatting.type_message("Is it my question?")
    page.route(ACTS, lost)
    chatting.send()
    again(page)
    page.unroute(ACTS)
    chatting.send()
    chatting.hear_out()
    expect(page.locator("#box textarea")).to_have_value("", timeout=LONG_MS)
    expect(chatting.note).to_have_text("")
    assert count(fast, "said") == 1
    chatting.rate()
    chatting.say("Is it my question?")  # the same words once more are another message
    chatting.hear_out()
    assert count(fast, "said") == 2


@pytest.mark.nightly
def test_a_message_that_is_not_sent_is_left_behind_only_after_a_word(chatting: Visitor) -> None:
    page, button = chatting.page, chatting.page.locator("#left [type=submit]")
    chatting.say("Hello")
    chatting.hear_out()
    chatting.fill_in()
    before = chatting.mark
    chatting.type_message("And one thing more")
    button.dblclick()  # the second one confirms nothing
    expect(chatting.note).to_contain_text(PAGE_WORDS["unsent"])
    expect(page.locator("#box textarea")).to_have_value("And one thing more")
    assert chatting.mark == before
    until(
        page,
        # not once the next screen is there: its own button would move the focus to what is missing on it
        f"before => {{ if ({MARK} === before) document.querySelector('#left [type=submit]').click();"
        f" return {MARK} !== before; }}",
        before,
    )
    chatting.arrived_from(before)
