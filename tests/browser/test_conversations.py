"""A conversation on the page: what is selected in it stays so while a reply comes, and code can be copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.hostile import Echo, seeded, study
from tests.browser.visitor import REPLIED, Visitor
from tests.browser.waiting import until
from tests.fakes.backends import registered
from tests.fakes.served import serving_aside, settings_for

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
CODE = "x = 1\ny = 2"
SELECT = "() => getSelection().selectAllChildren(document.querySelector('#chat .message.bot .text p'))"
SELECTED = "getSelection().toString()"


@pytest.fixture
def page(tmp_path: Path, new_context: Callable[..., BrowserContext]) -> Iterator[Page]:
    """A chat with a model that says in pieces what it was told."""
    settings = settings_for(tmp_path)
    with registered("echo", Echo):
        path = study(tmp_path, "live", "slow")
        (session,) = seeded(settings, path, [()], "talk")
        with serving_aside(settings, path) as served:
            context = new_context(own=True)
            context.grant_permissions(["clipboard-read", "clipboard-write"])
            session.sit_down(context, served.url)
            page = context.new_page()
            page.goto(f"{served.url}/")
            Visitor(page, served.url).ready()
            yield page


def test_what_is_selected_stays_so_and_code_can_be_copied(page: Page) -> None:
    visitor = Visitor(page, "")
    visitor.say(f"Hello **you**\n\n```python\n{CODE}\n```\n\n\\(x^2\\)")
    visitor.hear_out()
    page.locator("#chat .message.bot .copy").click()
    until(page, "async code => (await navigator.clipboard.readText()).trim() === code", CODE)
    visitor.say("Again, in several paragraphs.\n\nOne.\n\nTwo.\n\n\\(y^2\\)\n\nThree.")
    page.evaluate(SELECT)
    assert page.evaluate(SELECTED) == "Hello you"
    until(page, REPLIED)
    assert page.evaluate(SELECTED) == "Hello you"
    assert page.locator("#chat .message.bot math").count() == 2
