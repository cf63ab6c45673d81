"""Asking for help on a phone, by the keyboard: what is typed elsewhere stays, and the answer comes by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from app.studies.loader import read_yaml
from storage.accounts.roles import TERMINAL
from tests.browser.axe import Audit
from tests.browser.conftest import serve
from tests.browser.visitor import Visitor
from tests.fakes import studies
from tests.fakes.commanding import parley
from tests.fakes.served import SECRET, Process

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.nightly]
NewContext = Callable[..., BrowserContext]
POLL_MS = 11_000


@pytest.fixture
def helping(tmp_path: Path) -> Iterator[Process]:
    file = studies.short(tmp_path)
    yield from serve(tmp_path, studies.write(tmp_path, {**read_yaml(file), "help": "We answer soon."}))


def test_help_is_asked_for_and_answered_beside_a_form(helping: Process, new_context: NewContext, audit: Audit) -> None:
    page = new_context(own=True, viewport={"width": 390, "height": 844}).new_page()
    page.clock.install()
    visitor = Visitor(page, helping.url)
    visitor.arrive("short")
    visitor.until("Looking back")
    box, mine, log = (page.locator(part) for part in ("#left textarea", "#help-text", "#help [role=log]"))
    box.fill("Half a thought")
    button = page.get_by_role("button", name="Help")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#help-heading")).to_be_focused()
    expect(page.locator("#help dialog")).to_be_in_viewport(ratio=1)
    audit(page)
    mine.fill("What is <b>meant</b>?")
    page.get_by_role("button", name="Send").last.focus()
    page.keyboard.press("Enter")
    expect(log).to_contain_text("What is <b>meant</b>?")
    expect(page.locator("#help [role=status]")).not_to_be_empty()
    expect(mine).to_have_value("")
    page.keyboard.press("Escape")
    expect(button).to_be_focused()

    box.focus()
    said = parley("session", "answer", "short", "1", "Anything.", folder=helping.folder, PARLEY_SECRET=SECRET)
    assert said.returncode == 0, said.stderr
    page.clock.run_for(POLL_MS)
    expect(page.locator("#note .note")).to_be_visible()
    expect(box).to_be_focused()
    expect(box).to_have_value("Half a thought")
    button.click()
    expect(log).to_contain_text("Anything.")
    assert TERMINAL not in page.content()
    assert visitor.complaints == []


def test_what_the_desk_does_reaches_a_page_that_has_asked_for_nothing(
    helping: Process, new_context: NewContext
) -> None:
    page = new_context(own=True).new_page()
    page.clock.install()
    visitor = Visitor(page, helping.url)
    visitor.arrive("short")
    visitor.until("Looking back")
    said = parley("session", "end", "short", "1", "technical_failure", folder=helping.folder, PARLEY_SECRET=SECRET)
    assert said.returncode == 0, said.stderr
    page.clock.run_for(POLL_MS)
    expect(page.locator("#left h1")).not_to_have_text("Looking back")
