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

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(600)]
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
    known = failing.model("typing") | {"options": {"reasoning_until": "", "top_p": 0.9}}
    names = ("typing", "novel", *MARKS)
    files = [failing.talk(folder, f"case-{name}", {"only": unknown(name)}) for name in names]
    files.append(failing.columns(folder, "case-columns", {"known": known, "unknown": unknown("typing")}))
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


def test_the_first_reply_of_a_process_is_read_while_it_is_written(visitor: Visitor) -> None:
    page = come(visitor, "case-typing")
    expect(page.locator("#chat .message.bot .text").last).to_contain_text("word word")
    expect(page.locator('[data-act="stop"]')).to_be_visible()


def test_both_columns_of_a_comparison_are_read_while_they_are_written(visitor: Visitor) -> None:
    visitor.arrive("case-columns")
    visitor.until("Write a message")
    visitor.ask_both("Good day")
    for slot in "ab":
        expect(visitor.page.locator(f'#talk .live[data-slot="{slot}"]')).to_contain_text("word")


def test_a_reply_of_8000_words_ends_with_its_cut_and_a_note(place: Place, visitor: Visitor) -> None:
    page = come(visitor, "case-novel")
    visitor.hear_out()
    expect(page.locator("#chat .message.bot .not-whole")).to_be_visible()
    (replied,) = (event for event in place.newest() if event.kind == "replied")
    assert (len(replied.data["text"]), replied.data["finish_reason"]) == (20_000 - 1, "too_long")


@pytest.mark.parametrize("mark", MARKS)
def test_no_mark_reaches_the_page_or_the_data(mark: str, place: Place, visitor: Visitor) -> None:
    page = come(visitor, f"case-{mark}")
    visitor.hear_out()
    expect(page.locator("#chat .message.bot .text")).to_have_text("Hello")
    (replied,) = (event for event in place.newest() if event.kind == "replied")
    assert replied.data["text"] == "Hello"
