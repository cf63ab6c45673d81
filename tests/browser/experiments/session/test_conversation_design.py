"""A designed conversation in a browser: it opens by itself, offers messages, keeps its pace, and ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import serve
from tests.browser.senses import attend
from tests.browser.told import newest_facts
from tests.browser.visitor import Visitor
from tests.browser.waiting import until
from tests.fakes import studies
from tests.fakes.pictures import drawn
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]
NewContext = Callable[..., BrowserContext]
OPENS = "Hello, I am here to find a name for the new tea with you. Which mood shall it have in the end?"


@pytest.fixture(scope="module")
def designed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("designed")
    (folder / "ada.png").write_bytes(drawn())
    raw: dict[str, Any] = {
        "study": "designed",
        "title": "Designed",
        "problems": {"items": {"items": [{"question": "Find a name for a tea."}]}},
        "models": {"only": {"backend": "scripted", "options": {"first_ms": 0, "pace_ms": 0}}},
        "flow": [
            {"step": "consent", "text": "Do you agree?"},
            {"each": "item", "of": "items", "flow": [{"step": "chat", "model": "only"}]},
            {"step": "finish", "code": "DONE"},
        ],
    }
    raw["flow"][1]["flow"][0] |= {
        **{"assistant_label": "Ada", "assistant_picture": "![A woman with glasses](ada.png)", "opens": OPENS},
        **{"pace": 15, "scripted": {1: "Go on.", 2: r"Then \(\frac{1}{4}\) is done."}},
        "ends": {"after": 2, "text": "Ada has left. Go on."},
        "suggestions": {"texts": ["Something calm.", "Something new."]},
    }
    yield from serve(folder, studies.write(folder, raw))


def tree(page: Page) -> list[dict[str, Any]]:
    """What assistive technology is given: the nodes of the page that are not ignored."""
    session = page.context.new_cdp_session(page)
    nodes: list[dict[str, Any]] = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [node for node in nodes if not node["ignored"]]


def of(nodes: list[dict[str, Any]], role: str) -> list[str]:
    return [node.get("name", {}).get("value", "") for node in nodes if node["role"]["value"] == role]


def test_a_conversation_that_opens_by_itself_is_heard_once_keeps_its_words_and_ends(
    designed: Process, new_context: NewContext
) -> None:
    page = new_context(own=True).new_page()
    senses = attend(page)
    visitor = Visitor(page, designed.url)
    visitor.arrive("designed")
    visitor.until("Find a name")
    live = page.locator("#chat [data-slot='']")
    expect(live).to_contain_text("Hello,")
    before = live.inner_text()
    visitor.reload()
    expect(page.locator("#chat .message.bot"), "the words that were shown stay shown").to_contain_text(before)
    assert of(tree(page), "log") == ["Ada"]
    until(page, "document.querySelector('#heard').textContent.startsWith('Ada: ')")
    nodes = tree(page)
    (log,) = (node for node in nodes if node["role"]["value"] == "log")
    states = {one["name"]: one["value"].get("value") for one in log["properties"]}
    assert (states.get("live"), states.get("busy", False)) == ("polite", False)
    assert of(nodes, "image") == ["A woman with glasses"]
    assert of(nodes, "heading")[-1] == "A woman with glasses Ada"
    assert [words for words in senses.said if words.startswith("Ada: ")] == [f"Ada: {OPENS}"]
    senses.said.clear()
    visitor.reload()
    expect(page.locator("#chat .message.bot")).to_contain_text(OPENS)
    assert [words for words in senses.said if words.startswith("Ada: ")] == []
    box = page.locator("#box textarea")
    box.press_sequentially("My own")
    page.get_by_role("button", name="Something new.").click()
    expect(box).to_have_value("Something new.")
    box.press("Control+z")
    expect(box).to_have_value("My own")
    box.press("End")
    box.press_sequentially(" idea")
    box.press("Enter")
    expect(page.locator("#chat .message.bot")).to_have_count(2)
    page.get_by_role("button", name="Something calm.").click()
    expect(box).to_be_focused()
    expect(box).to_have_value("Something calm.")
    box.press("Enter")
    expect(page.get_by_text("Ada has left. Go on.")).to_be_visible()
    expect(page.locator("#box textarea")).to_be_hidden()
    assert "Ada has left. Go on." in senses.said
    until(page, r"document.querySelector('#heard').textContent.includes('Then frac 1 4 is')")
    visitor.finish()
    facts = (one for one in newest_facts(designed) if one.kind in ("opened", "said", "replied"))
    opened, own, _, said, replied = facts
    assert (opened.data["text"], opened.data["source"]) == (OPENS, "scripted")
    assert own.data == {"text": "My own idea"}, "a suggestion that was taken back is none"
    assert (said.data["suggested"], replied.data["ended_by"]) == ("verbatim", "turns")
    assert visitor.complaints == []
