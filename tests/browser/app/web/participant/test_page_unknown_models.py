"""Replies of servers of which nothing is known yet, as participants see them: from the first words to the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from experiments.events import Event
from tests.browser.visitor import Visitor
from tests.fakes import failing
from tests.fakes.model_server import serve as serve_models
from tests.fakes.served import Served, serving_aside
from tests.wiring.reading import facts, query

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
NewContext = Callable[..., BrowserContext]
MARKS = ("thoughts-tagged", "thoughts-harmony", "thoughts-bare", "thoughts-kimi", "ended")


@dataclass(frozen=True)
class Place:
    served: Served

    def newest(self) -> list[Event]:
        sql = "SELECT stream FROM event WHERE seq = 1 ORDER BY at_us DESC LIMIT 1"
        ((stream,),) = query(self.served.database, sql)
        return facts(self.served.database, stream)


def unknown(fault: str) -> dict[str, Any]:
    """A model of which the study says nothing."""
    return failing.model(fault) | {"options": {}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("unknown")
    files = [failing.talk(folder, f"case-{name}", {"only": unknown(name)}) for name in ("break", *MARKS)]
    with serve_models() as models:
        settings = failing.settings(folder, models.base_url)
        with serving_aside(settings, *files) as served:
            yield Place(served)


@pytest.fixture
def visitor(place: Place, new_context: NewContext) -> Visitor:
    return Visitor(new_context().new_page(), place.served.url)


def come(visitor: Visitor, study: str) -> Page:
    visitor.arrive(study)
    visitor.until("chat")
    visitor.say("Good day")
    return visitor.page


def test_what_could_be_read_of_a_reply_that_broke_off_stays_beside_a_button(visitor: Visitor) -> None:
    page = come(visitor, "case-break")
    expect(page.locator("#side .failed [data-act=retry]")).to_be_visible(timeout=60_000)
    expect(page.locator("#chat .message.bot .text")).to_contain_text("word word")


@pytest.mark.nightly
@pytest.mark.parametrize("mark", MARKS)
def test_no_mark_reaches_the_page_or_the_data(mark: str, place: Place, visitor: Visitor) -> None:
    page = come(visitor, f"case-{mark}")
    visitor.hear_out()
    expect(page.locator("#chat .message.bot .text")).to_have_text("Hello")
    (replied,) = (event for event in place.newest() if event.kind == "replied")
    assert replied.data["text"] == "Hello"
