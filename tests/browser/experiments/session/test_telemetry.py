"""What the page tells of itself, in a real browser: what is told is true, and it never slows or breaks the page."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app.studies.loader import read_yaml
from tests.browser.visitor import Visitor
from tests.browser.waiting import MOST_S, until
from tests.fakes import studies
from tests.fakes.served import Served, serving_aside, settings_for
from tests.wiring.reading import query

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]
NewContext = Callable[..., BrowserContext]
SECRET = "a sentence from elsewhere"
PICTURE = """(box) => {
  const clipboardData = new DataTransfer();
  clipboardData.items.add(new File(["x"], "x.png", { type: "image/png" }));
  box.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""
CLIPBOARD = ["clipboard-read", "clipboard-write"]


def boxes(folder: Path) -> Path:
    """A consent, two boxes of which one lets nothing be pasted, a chat that lets nothing be pasted, the end."""
    raw = read_yaml(studies.chat(folder))
    survey = {
        "step": "survey",
        "id": "boxes",
        "questions": [
            {"type": "long_text", "name": "free", "text": "Paste here"},
            {"type": "short_text", "name": "own", "text": "Your own words", "paste": "block", "required": False},
            {"type": "single_choice", "name": "pick", "text": "Which?", "options": ["One", "Two"], "required": False},
        ],
    }
    talk = {"step": "chat", "answer": True, "paste": "block"}
    each = {"each": "question", "of": "questions", "take": 1, "flow": [talk]}
    flow = [raw["flow"][0], survey, each, raw["flow"][-1]]
    return studies.write(folder, {**raw, "study": "boxes", "flow": flow, "session_limits": {"idle_after_s": 60}})


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("telemetry")
    quiet = studies.write(folder, {**read_yaml(boxes(folder)), "study": "quiet", "telemetry": False})
    raw = read_yaml(boxes(folder))
    trap = studies.write(folder, {**raw, "study": "trap", "integrity": {"honeypot": True}})
    with serving_aside(settings_for(folder), boxes(folder), quiet, trap) as served:
        yield served


@pytest.fixture
def visitor(served: Served, new_context: NewContext) -> Visitor:
    """Somebody with something in the clipboard, on the screen with the two boxes."""
    return Visitor(new_context(permissions=CLIPBOARD).new_page(), served.url)


def come(visitor: Visitor, study: str = "boxes") -> Page:
    visitor.arrive(study)
    visitor.page.evaluate("text => navigator.clipboard.writeText(text)", SECRET)
    visitor.go_on()
    return visitor.page


def told(served: Served, wanted: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    """What was told in the newest session, once it is what a test waits for."""
    sql = (
        "SELECT kind, path, data FROM telemetry WHERE stream = "
        "(SELECT stream FROM event WHERE seq = 1 ORDER BY at_us DESC LIMIT 1) ORDER BY number"
    )
    give_up = time.monotonic() + MOST_S
    while True:
        rows = [{"kind": kind, "path": path, **json.loads(data)} for kind, path, data in query(served.database, sql)]
        if wanted(rows):
            return rows
        assert time.monotonic() < give_up, rows
        time.sleep(0.05)


def sent(page: Page) -> None:
    """Let the page send what it has to tell before its time, as it does when it is left."""
    page.evaluate("dispatchEvent(new Event('pagehide'))")


def has(kind: str) -> Callable[[list[dict[str, Any]]], bool]:
    return lambda rows: any(row["kind"] == kind for row in rows)


def paste(page: Page, box: str) -> None:
    page.locator(box).focus()
    page.keyboard.press("Control+V")


def test_what_is_done_is_told_in_numbers_and_pasting_is_blocked_where_the_box_says_so(
    served: Served, visitor: Visitor
) -> None:
    """Pasting and copying in characters, leaving and coming back, and each screen with its first key, its keys and its
    choices; of no text, and nothing before there is consent."""
    page = come(visitor)
    page.evaluate("dispatchEvent(new Event('blur'))")
    page.wait_for_timeout(100)
    page.evaluate("dispatchEvent(new Event('focus'))")
    page.wait_for_timeout(100)
    paste(page, "[name=own]")
    expect(page.locator("#note .note")).to_be_visible()
    page.locator("[name=own]").press_sequentially("typed", delay=30)
    page.locator("[name=free]").evaluate(PICTURE)
    paste(page, "[name=free]")
    expect(page.locator("[name=own]")).to_have_value("typed")
    expect(page.locator("[name=free]")).to_have_value(SECRET)
    page.locator("[name=free]").press_sequentially("by hand", delay=30)
    page.locator("[name=own]").focus()
    page.keyboard.press("Control+A")
    page.keyboard.press("Control+C")
    page.locator("label.option").nth(1).click()
    visitor.press(page.locator("#left form button[type=submit]"))
    until(page, "document.documentElement.dataset.layout === 'chat'")
    page.evaluate("text => navigator.clipboard.writeText(text)", SECRET)
    paste(page, "#box textarea")
    expect(page.locator("#note .note")).to_be_visible()
    expect(page.locator("#box textarea")).to_have_value("")
    sent(page)
    rows = told(served, lambda rows: sum(row["kind"] == "pasted" for row in rows) == 3)
    of = {kind: [row for row in rows if row["kind"] == kind] for kind in ("pasted", "copied", "came_back", "screen")}
    pasted = [(row["box"], row["chars"], row["blocked"]) for row in of["pasted"]]
    assert pasted == [("own", len(SECRET), True), ("free", len(SECRET), False), ("message", len(SECRET), True)]
    assert [(row["chars"], row["from"]) for row in of["copied"]] == [(len("typed"), "page")]
    assert [row["kind"] for row in rows][:2] == ["left", "came_back"]
    (back,), (screen, *_) = of["came_back"], of["screen"]
    assert back["away_ms"] >= 100
    assert (screen["path"], screen["choices"]) == ("boxes", 1)
    assert {"own": 5, "free": 7}.items() <= screen["keys"].items()
    assert 200 <= screen["first_key_ms"] <= screen["shown_ms"] - screen["typing_ms"]
    assert 300 <= screen["typing_ms"] <= screen["visible_ms"] <= screen["shown_ms"] - 100
    assert "sentence" not in json.dumps(query(served.database, "SELECT path, kind, data FROM telemetry"))
    assert not [row for row in rows if row["path"] == "consent"]
    assert visitor.complaints == []


def test_a_hidden_box_is_for_programs_alone_and_that_it_was_filled_in_is_told_but_not_with_what(
    served: Served, visitor: Visitor
) -> None:
    page = come(visitor, "trap")
    hidden = page.locator("[data-honeypot]")
    assert hidden.bounding_box() is None or hidden.evaluate("one => one.closest('.unseen').offsetWidth") == 1
    assert hidden.evaluate("one => [one.tabIndex, one.name, one.closest('[aria-hidden=true]') !== null]") == [
        -1,
        "",
        True,
    ]
    page.locator("[name=free]").fill("Something of my own.")
    hidden.evaluate("one => { one.value = 'zqtrapqz'; one.dispatchEvent(new Event('change', { bubbles: true })); }")
    sent(page)
    (filled,) = (row for row in told(served, has("honeypot")) if row["kind"] == "honeypot")
    assert filled == {"kind": "honeypot", "path": "boxes"}
    visitor.press(page.locator("#left form button[type=submit]"))
    until(page, "document.documentElement.dataset.layout === 'chat'")
    everything = [query(served.database, f"SELECT data FROM {table}") for table in ("telemetry", "event", "draft")]
    assert "zqtrapqz" not in json.dumps(everything)
    assert visitor.complaints == []


def test_blocking_needs_no_telemetry(served: Served, visitor: Visitor) -> None:
    page = come(visitor, "quiet")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    paste(page, "[name=own]")
    expect(page.locator("#note .note")).to_be_visible()
    expect(page.locator("[name=own]")).to_have_value("")
    paste(page, "[name=free]")
    visitor.press(page.locator("#left form button[type=submit]"))
    until(page, "document.documentElement.dataset.layout === 'chat'")
    sent(page)
    assert asked
    assert not [url for url in asked if "/api/telemetry" in url]


def test_who_does_not_stir_is_asked_and_answers_by_a_key(served: Served, new_context: NewContext) -> None:
    visitor = Visitor(new_context(own=True, permissions=CLIPBOARD).new_page(), served.url)
    visitor.page.clock.install()
    page = come(visitor)
    page.locator("[name=free]").focus()
    page.clock.fast_forward(59_000)
    expect(page.locator("#still-there")).to_have_count(0)
    for key in ("Escape", "Enter"):
        page.clock.fast_forward(61_000)
        expect(page.get_by_role("dialog", name="Are you still there?")).to_be_visible()
        expect(page.get_by_role("button", name="Yes, I am here")).to_be_focused()
        page.keyboard.press(key)
        expect(page.locator("#still-there")).to_have_count(0)
        expect(page.locator("[name=free]")).to_be_focused()
    page.clock.fast_forward(16_000)
    rows = told(served, lambda rows: sum(row["kind"] == "here" for row in rows) == 2)
    assert [row["kind"] for row in rows if row["kind"] in ("idle", "here")] == ["idle", "here", "idle", "here"]
    assert all(row["after_ms"] >= 60_000 for row in rows if row["kind"] == "idle")
