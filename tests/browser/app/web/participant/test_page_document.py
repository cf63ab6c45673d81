"""A document beside a conversation: written by the keyboard, changed by the model, taken back, and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from app.web.participant.view import PAGE_WORDS
from tests.browser.axe import Audit
from tests.browser.conftest import serve
from tests.browser.told import newest_facts
from tests.browser.visitor import Visitor
from tests.browser.waiting import until
from tests.fakes import studies
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
NewContext = Callable[..., BrowserContext]
OLD, NEW = "A first line.", "A first line, by the model."
CALL = {"tool": "replace", "arguments": {"old": OLD, "new": NEW}}
PHONE, WIDE = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
LOW = {"width": 1366, "height": 650}
# The sheet begins with the document, and not with half a line of what is above it.
BEGINS = "document.querySelector('#left .document').getBoundingClientRect().top"
BEGINS += " - document.querySelector('#left-column').getBoundingClientRect().top"
BEGINS = f"Math.round({BEGINS}) >= 0 && Math.round({BEGINS}) < 20"
WHOLE = "(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight)(document.querySelector('.undo'))"
TEXT = "document.querySelector('#document').value"
SAVED = "document.querySelector('[data-document-state]').textContent === 'Saved'"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    more = {
        "text": "Write a text. " * 16,
        "min_words": 5,
        "format": "markdown",
        "suggestions": {"texts": ["Shorten it."]},
    }
    raw = {
        "study": "work",
        "title": "Work",
        "models": {"one": {"backend": "scripted", "options": {"first_ms": 0, "pace_ms": 0, "calls": [[CALL]]}}},
        "flow": [
            {"step": "work", "model": "one", "initial": f"{OLD}\n", "max_document_chars": 1000, **more},
            {"step": "finish"},
        ],
    }
    yield from serve(tmp_path, studies.write(tmp_path, raw))


def at_work(server: Process, new_context: NewContext, size: dict[str, int]) -> tuple[Visitor, Locator]:
    page = new_context(own=True, viewport=size).new_page()
    visitor = Visitor(page, server.url)
    visitor.arrive("work")
    return visitor, page.locator("#document")


def say(page: Page) -> None:
    page.locator("#box textarea").focus()
    page.keyboard.type("Please.")
    page.keyboard.press("Enter")


def test_a_text_is_written_with_a_model_by_the_keyboard_on_a_phone(
    server: Process, new_context: NewContext, audit: Audit
) -> None:
    visitor, document = at_work(server, new_context, PHONE)
    page, undo, bar = (
        visitor.page,
        visitor.page.locator(".undo button"),
        visitor.page.locator("#sheet-bar button").first,
    )
    expect(document).to_have_value(f"{OLD}\n")
    for uncovered in ("#chat .title", "#chat .empty", "[data-suggestion]"):
        page.locator(uncovered).click(trial=True)
    document.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("Mine")
    say(page)
    expect(page.locator(".tool")).to_contain_text("Change the document")
    expect(document).to_have_value(f"{NEW}\nMine")
    visitor.hear_out()
    expect(bar).to_have_attribute("aria-expanded", "false")
    expect(bar).to_have_attribute("data-changed", "")
    bar.focus()
    page.keyboard.press("Enter")
    expect(undo).to_be_visible()
    expect(bar).not_to_have_attribute("data-changed", "")
    until(page, BEGINS)
    audit(page)
    undo.focus()
    page.keyboard.press("Enter")
    expect(document).to_have_value(f"{OLD}\nMine")
    page.locator("#left [type=submit]").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#document-fault")).to_be_visible()
    document.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type(" and **more**.")
    preview = page.locator("[data-previews]")
    preview.focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-preview] strong")).to_have_text("more")
    audit(page)
    page.keyboard.press("Enter")
    expect(document).to_be_focused()
    page.locator("#left [type=submit]").focus()
    page.keyboard.press("Enter")
    page.locator("#document").wait_for(state="detached")
    submitted = next(event for event in newest_facts(server) if event.kind == "submitted")
    assert submitted.data == {"document": f"{OLD}\nMine and **more**."}
    assert visitor.complaints == []


@pytest.mark.nightly
def test_in_a_low_window_the_document_and_its_change_have_room(server: Process, new_context: NewContext) -> None:
    visitor, _ = at_work(server, new_context, LOW)
    say(visitor.page)
    visitor.page.locator(".undo summary").click()
    until(visitor.page, "document.querySelector('#document').clientHeight > 150")
    until(
        visitor.page,
        "(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight)(document.querySelector('.undo'))",
    )


@pytest.mark.nightly
def test_what_the_model_changed_and_what_was_typed_before_can_be_undone_by_the_keyboard(
    server: Process, new_context: NewContext
) -> None:
    visitor, document = at_work(server, new_context, WIDE)
    page = visitor.page
    document.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("Mine")
    say(page)
    visitor.hear_out()
    expect(document).to_have_value(f"{NEW}\nMine")
    expect(page.locator("#box textarea")).to_be_focused()
    document.focus()
    page.keyboard.press("Control+z")
    expect(document).to_have_value(f"{OLD}\nMine")
    until(page, f"value => {{ document.execCommand('undo'); return {TEXT} === value; }}", f"{OLD}\n")
    until(page, SAVED)


@pytest.mark.nightly
def test_what_is_too_long_is_kept_and_its_writer_told(server: Process, new_context: NewContext) -> None:
    visitor, document = at_work(server, new_context, WIDE)
    page = visitor.page
    document.focus()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("x" * 1000)
    expect(document).to_have_value(f"{OLD}\n{'x' * 1000}")
    expect(page.locator("#left [data-room]")).to_contain_text(f" {len(OLD) + 1}")
    page.locator("#left [type=submit]").click()
    expect(page.locator("#document-fault")).to_be_visible()
    visitor.reload()
    expect(document).to_have_value(f"{OLD}\n{'x' * 1000}")
    say(page)  # which waits until the document is taken
    page.locator("#document").fill("Short.")
    until(page, SAVED)
    visitor.reload()
    expect(document).to_have_value("Short.")


@pytest.mark.nightly
def test_what_the_server_does_not_take_is_sent_again_only_with_the_next_key(
    server: Process, new_context: NewContext
) -> None:
    page = new_context(own=True, viewport=WIDE).new_page()
    page.clock.install()
    visitor = Visitor(page, server.url)
    visitor.arrive("work")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/api/act") else None)
    with page.expect_response("**/api/act"):
        page.locator("#document").fill("x" * 200_000)
        page.clock.run_for(2_000)
    expect(visitor.note).to_contain_text(PAGE_WORDS["long"])
    with page.expect_request("**/api/preview"):
        page.clock.run_for(20_000)
        page.locator("[data-previews]").dispatch_event("click")  # the focus stays: leaving the box sends what is in it
    assert len(sent) == 1


@pytest.mark.nightly
def test_unsaved_words_and_the_caret_stay_while_the_model_writes_and_the_network_is_lost(
    server: Process, new_context: NewContext
) -> None:
    visitor, document = at_work(server, new_context, WIDE)
    page = visitor.page
    other = page.context.new_page()
    other.goto(page.url)
    Visitor(other, server.url).ready()
    page.route("**/api/act", lambda route: route.abort())
    document.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("Typed meanwhile")
    until(page, "document.querySelector('#note').innerText.trim() !== ''")
    say(other)
    expect(other.locator("#document")).to_have_value(f"{NEW}\n")
    page.keyboard.type(", offline")
    page.keyboard.press("ArrowLeft")
    expect(document).to_have_value(f"{OLD}\nTyped meanwhile, offline")
    page.unroute("**/api/act")
    page.evaluate("dispatchEvent(new Event('online'))")
    until(page, SAVED)
    expect(document).to_have_value(f"{NEW}\nTyped meanwhile, offline")
    page.keyboard.type("X")
    until(page, SAVED)
    expect(document).to_have_value(f"{NEW}\nTyped meanwhile, offlinXe")
    expect(other.locator("#document")).to_have_value(f"{NEW}\nTyped meanwhile, offlinXe")
