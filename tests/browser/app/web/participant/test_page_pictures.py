"""Pictures for a message: pasted, chosen, removed and sent, by the keyboard and on a phone."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.axe import Audit
from tests.browser.conftest import READY, serve
from tests.browser.visitor import Visitor
from tests.browser.waiting import settled, until
from tests.fakes import studies
from tests.fakes.pictures import drawn, photo
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
PASTE = """([box, kind, content]) => {
  const clipboardData = new DataTransfer();
  const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt());
  clipboardData.items.add(new File([bytes], "screen.png", { type: "image/png" }));
  const given = kind === "paste" ? { clipboardData } : { dataTransfer: clipboardData };
  const made = kind === "paste" ? ClipboardEvent : DragEvent;
  box.dispatchEvent(new made(kind, { ...given, bubbles: true, cancelable: true }));
}"""

SHAPE = """(pictures) => {
  const log = pictures[0].closest("[role=log]");
  const boxes = pictures.map((one) => [one.offsetWidth, one.offsetHeight]);
  return [boxes, log.scrollHeight - log.scrollTop - log.clientHeight <= 4];
}"""

# Each picture has its place in its message, where a long one is scrolled.
INSIDE = """[...document.querySelectorAll("#chat .picture")].every((one) => {
  const [place, message] = [one, one.closest(".message")].map((part) => part.getBoundingClientRect());
  return place.height && place.height <= 321 && place.left >= message.left && place.right <= message.right;
})"""


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Process]:
    chat = {"step": "chat", "model": "one", "attach": ["image"], "attach_limits": {"per_message": 2, "max_mb": 0.5}}
    raw = {
        "study": "seen",
        "title": "What do you see?",
        "problems": {"items": {"items": [{"question": "Ask about a picture of yours."}]}},
        "models": {"one": {"backend": "scripted", "options": {"first_ms": 1000, "pace_ms": 0}}},
        "flow": [{"each": "item", "of": "items", "flow": [chat]}, {"step": "finish"}],
    }
    yield from serve(tmp_path, studies.write(tmp_path, raw))


def put(page: Page, kind: str, content: bytes) -> None:
    box = page.locator("#box textarea")
    box.evaluate(
        f"(box, [kind, content]) => ({PASTE})([box, kind, content])", [kind, base64.b64encode(content).decode()]
    )


def late_pictures_move_nothing(page: Page) -> None:
    """What a conversation opened anew shows while its pictures are under way is what it shows when they are there."""
    held: list[Route] = []
    take = [held.append]
    page.route("**/attached/*", lambda route: take[-1](route))
    page.reload(wait_until="commit")
    shown = page.locator("#chat .message .pictures img")
    expect(shown).to_have_count(2)
    until(page, READY)
    settled(page)
    before = shown.evaluate_all(SHAPE)
    assert before[-1], "its end"
    assert min(side for box in before[0] for side in box) > 100, "legible"
    take.append(Route.continue_)
    for one in held:
        one.continue_()
    until(page, "[...document.querySelectorAll('#chat .pictures img')].every((one) => one.naturalWidth)")
    settled(page)
    assert before == shown.evaluate_all(SHAPE)
    page.unroute_all()


@pytest.mark.parametrize("size", [(390, 844), pytest.param((1366, 650), marks=pytest.mark.nightly)])
def test_pictures_are_pasted_chosen_removed_and_sent(
    talk: Process, new_context: Callable[..., BrowserContext], audit: Audit, size: tuple[int, int]
) -> None:
    page = new_context(own=True, viewport={"width": size[0], "height": size[1]}).new_page()
    chosen = {"name": "x.jpg", "mimeType": "image/jpeg", "buffer": photo(400, 300)}
    page.on("filechooser", lambda chooser: chooser.set_files(chosen))
    visitor = Visitor(page, talk.url)
    visitor.arrive("seen")
    box, attach, given = page.locator("#box textarea"), page.locator("[data-attach]"), page.locator(".attach li")
    expect(attach).to_be_enabled()
    box.fill("What is it?")
    put(page, "paste", drawn(300, 200))
    expect(given).to_have_count(1)
    put(page, "drop", drawn(200, 1500))
    expect(given).to_have_count(2)
    expect(attach).to_have_count(0)
    expect(box).to_have_value("What is it?")
    until(page, "[...document.querySelectorAll('.attach li img')].every((one) => one.naturalWidth)")
    audit(page)

    given.first.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(given).to_have_count(1)
    expect(attach).to_be_focused()
    page.keyboard.press("Enter")
    expect(given).to_have_count(2)
    page.reload()
    expect(given).to_have_count(2)
    expect(box).to_have_value("What is it?")

    box.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#chat .message.you img")).to_have_count(2)
    put(page, "paste", drawn(300, 200))  # while the reply is written: it is for the next message
    expect(page.locator("#chat .message.bot").last).to_contain_text("I see 2 pictures (200 x 1500, 400 x 300 pixels).")
    expect(given).to_have_count(1)
    given.get_by_role("button").click()
    expect(given).to_have_count(0)
    until(page, INSIDE)
    audit(page)
    put(page, "paste", b"no picture")
    expect(page.locator("#note p")).to_contain_text("no picture that can be shown")
    put(page, "paste", bytes(600_000))
    expect(page.locator("#note p")).to_contain_text("0.6 MB, and at most 0.5 MB")
    expect(given).to_have_count(0)
    late_pictures_move_nothing(page)
    until(page, "document.documentElement.scrollWidth <= innerWidth")
    assert [one for one in visitor.complaints if "422" not in one] == []
