"""Coming back from another device: by a signed link to the same place, by an id alone to the beginning."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.visitor import Visitor
from tests.fakes.proofs import signed
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.nightly]
NewContext = Callable[..., BrowserContext]
EXPLAIN = "Please explain it to Jane Doe."


def test_a_signed_link_goes_on_where_it_was_and_an_id_alone_begins(fast: Process, new_context: NewContext) -> None:
    first, second, stranger = (Visitor(new_context().new_page(), fast.url) for _ in range(3))
    link = signed("short", "sona", "10437")
    first.arrive("short", link)
    first.until("chat")
    first.say(EXPLAIN)
    first.hear_out()
    second.arrive("short", link)
    assert (second.mark, second.heading) == (first.mark, first.heading)
    assert EXPLAIN in second.page.locator("#chat").inner_text()
    second.go_on()
    stranger.page.goto(f"{fast.url}/s/short?survey_code=10437")
    assert stranger.page.get_by_role("button").inner_text() == "Start"
    stranger.arrive("short", "?survey_code=10437")
    assert not stranger.finished
    assert stranger.heading != second.heading
    assert "Jane Doe" not in stranger.page.content()
    assert (first.complaints, second.complaints, stranger.complaints) == ([], [], [])
