"""A chat whose model uses tools, on a phone and by the keyboard: what it did is shown, and what it may do is asked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.axe import Audit
from tests.browser.conftest import serve
from tests.browser.visitor import Visitor
from tests.browser.waiting import until
from tests.conftest import ROOT
from tests.fakes import studies
from tests.fakes.served import Process
from tests.fakes.tool_server import PAID_FILE, SERVER

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
FIND, PAY = {"tool": "find", "arguments": {"order": "7"}}, {"tool": "pay", "arguments": {"order": "7"}}
LABELS = {"pay": "Pay for an order"}
AT_END = "(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight <= 4)"
AT_END += "(document.querySelector('#chat [role=log]'))"
HOSTILE = "<img src=x onerror=alert(1)> <b>7</b> **x** $$x$$ \u202e" + "verylongword" * 30


def command(folder: Path) -> list[str]:
    server = f"import runpy, os; os.environ['{PAID_FILE}'] = r'{folder / 'paid'}'; "
    server += f"import sys; sys.path.insert(0, r'{ROOT}'); runpy.run_module('{SERVER}', run_name='__main__')"
    return [sys.executable, "-c", server]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Process]:
    find, pay = ({**one, "arguments": {"order": HOSTILE}} for one in (FIND, PAY))
    options = {"first_ms": 0, "pace_ms": 0, "calls": [[find, PAY], [pay]]}
    raw = {
        "study": "desk",
        "title": "Desk",
        "problems": {"items": {"items": [{"question": "Ask for your order."}]}},
        "models": {"one": {"backend": "scripted", "options": options}},
        "tools": {"desk": {"command": command(tmp_path), "writes": ["pay"], "labels": LABELS}},
        "flow": [
            {"each": "item", "of": "items", "flow": [{"step": "chat", "model": "one", "tools": "desk"}]},
            {"step": "finish"},
        ],
    }
    yield from serve(tmp_path, studies.write(tmp_path, raw))


def test_a_call_is_allowed_and_another_refused_by_the_keyboard(
    desk: Process, new_context: Callable[..., BrowserContext], audit: Audit
) -> None:
    page = new_context(own=True, viewport={"width": 390, "height": 844}).new_page()
    visitor = Visitor(page, desk.url)
    visitor.arrive("desk")
    box, card = page.locator("#box textarea"), page.locator(".approval")
    box.fill("Where is my order? Please pay. " * 20)
    page.locator("#send").click()
    expect(card).to_be_visible()
    expect(card).to_contain_text("Pay for an order")
    expect(page.locator(".tool").first).to_contain_text("Find")
    audit(page)
    until(page, AT_END)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator(".approval")).to_be_visible()
    card.get_by_role("textbox").fill("Only this one.")
    card.get_by_role("button", name="Allow", exact=True).focus()
    page.keyboard.press("Enter")
    expect(card).to_have_count(0)
    expect(other.locator(".approval")).to_have_count(0)
    other.close()
    expect(page.locator(".tool.why q")).to_have_text("Only this one.")
    expect(page.locator("#chat .message.bot").last).to_contain_text("Order 7 is paid.")
    assert (desk.folder / "paid").read_text().split() == ["7"]

    box.fill("Again, please.")
    page.locator("#send").click()
    expect(card).to_be_visible()
    expect(card.locator("dd")).to_contain_text("<img src=x")
    assert card.locator("dd *").count() == 0
    with page.expect_response(lambda one: "Once" in (one.request.post_data or "")):
        card.get_by_role("textbox").fill("Once is enough.")
    page.reload()
    expect(card.get_by_role("textbox")).to_have_value("Once is enough.")
    card.get_by_role("textbox").focus()
    page.keyboard.press("Enter")  # a reason is no decision
    page.keyboard.press("Tab")
    expect(card.get_by_role("button", name="Do not allow")).to_be_focused()
    page.keyboard.press("Enter")
    expect(card).to_have_count(0)
    expect(page.locator(".tool.why q").last).to_have_text("Once is enough.")
    expect(page.locator("#chat .message.bot").last).to_contain_text("Once is enough.")
    assert (desk.folder / "paid").read_text().split() == ["7"]
    page.locator(".tool summary").first.click()
    for shown in (page.locator(".tool pre").first, page.locator(".tool dd").first):
        assert HOSTILE.replace("\u202e", "\ufffd") in (shown.text_content() or "")
        assert shown.locator("*").count() == 0
    until(page, "document.documentElement.scrollWidth <= innerWidth")
    assert visitor.complaints == []
