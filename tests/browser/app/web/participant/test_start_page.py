"""Browsers that lack what the page needs are told so before anything begins."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.told import sessions
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
NewContext = Callable[..., BrowserContext]


def test_a_browser_that_keeps_no_cookies_begins_nothing_and_leads_back_to_the_same_link(
    fast: Process, new_context: NewContext
) -> None:
    page, before = new_context().new_page(), sessions(fast)
    link = f"{fast.url}/s/short?PROLIFIC_PID=5f3a"
    page.goto(link)
    for _ in range(2):
        page.context.clear_cookies()
        page.get_by_role("button").click()
        expect(page.locator("body")).to_have_attribute("data-page", "cookies_needed")
        page.locator("main a").click()
        expect(page.locator("body")).to_have_attribute("data-page", "start")
        assert page.url == link
    assert sessions(fast) == before
    page.get_by_role("button").click()
    expect(page.locator("#heading")).to_be_visible()
    assert sessions(fast) == before + 1


def test_without_scripts_there_is_no_button_and_the_page_says_why(fast: Process, new_context: NewContext) -> None:
    page = new_context(java_script_enabled=False).new_page()
    page.goto(f"{fast.url}/s/short")
    expect(page.get_by_role("button")).to_have_count(0)
    assert "JavaScript" in page.locator("main").inner_text()
