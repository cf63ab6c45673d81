"""Text composed with an input method, as for Japanese, Chinese and Korean: its Enter accepts, and sends nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.nightly]
Screens = Callable[[str], Page]
BOX = "#box textarea"
LINE = "[data-field=field] input"
STARTED: dict[str, Any] = {"type": "compositionstart"}
ENDED: dict[str, Any] = {"type": "compositionend"}
ACCEPTS: dict[str, Any] = {"type": "keydown", "key": "Enter", "keyCode": 229}
RELEASED: dict[str, Any] = {"type": "keyup", "key": "Enter", "keyCode": 13}
ENTER: dict[str, Any] = {"type": "keydown", "key": "Enter", "keyCode": 13}
WITHIN = {"isComposing": True}
# The events by which browsers tell that Enter has accepted what an input method proposed, in their order.
ACCEPTED: dict[str, tuple[dict[str, Any], ...]] = {
    "Chromium": (ACCEPTS | WITHIN, ENDED, RELEASED),
    "Chromium on Windows": (ACCEPTS | WITHIN | {"key": "Process"}, ENDED, RELEASED),
    "Chromium on Android": (ACCEPTS | WITHIN | {"key": "Unidentified"}, ENDED),
    "Firefox": (ACCEPTS | WITHIN | {"key": "Process"}, ENDED, RELEASED | WITHIN),
    "Firefox before 65": (ENTER | WITHIN, ENDED, RELEASED),
    "Safari": (ENDED, ACCEPTS, RELEASED),
    "without its signs": (ENTER, ENDED, RELEASED),
    "by the space bar": (ACCEPTS | WITHIN | {"key": " "}, ENDED),
    "by another click": (ENDED,),
}
DISPATCH = """([where, events]) => {
  const box = document.querySelector(where);
  for (const { type, text, ...given } of events) {
    if (text !== undefined) {
      box.value = text;
      box.dispatchEvent(new InputEvent("input", { bubbles: true, isComposing: true }));
      continue;
    }
    const kind = type.startsWith("composition") ? CompositionEvent : KeyboardEvent;
    const event = new kind(type, { bubbles: true, cancelable: true, ...given });
    if (given.keyCode) Object.defineProperty(event, "keyCode", { value: given.keyCode });
    box.dispatchEvent(event);
  }
}"""


@pytest.fixture
def sent(screens: Screens) -> Iterator[list[str]]:
    """The messages and forms that are sent from now on; each is answered by an error at once."""
    page = screens("consent")
    page.set_viewport_size({"width": 1280, "height": 800})
    sent: list[str] = []

    def note(route: Any, request: Any) -> None:
        sent.append(request.post_data_json["values"].get("text", "a form"))
        route.fulfill(status=400, json={})

    page.route("**/api/act", note)
    yield sent
    page.unroute("**/api/act")


def composed(before: str, word: str, accepted: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    """The events of one word, which grows letter by letter and is then accepted."""
    grown = [{"type": "input", "text": before + word[: end + 1]} for end in range(len(word))]
    return [STARTED, *grown, *accepted]


def test_the_enter_of_an_input_method_sends_nothing(screens: Screens, sent: list[str]) -> None:
    """Neither in the message box nor in a line of a form, from which Enter otherwise leads on."""
    page = screens("chat")
    for number, (order, accepted) in enumerate(ACCEPTED.items(), 1):
        page.locator(BOX).focus()
        page.evaluate(DISPATCH, [BOX, composed("", "日本語", accepted)])
        expect(page.locator("#send"), order).to_be_enabled()
        assert len(sent) == number - 1, order
        with page.expect_response("**/api/act"):
            page.evaluate(DISPATCH, [BOX, [ENTER]])
        assert sent == ["日本語"] * number, order
        until(page, "!document.querySelector('#send').disabled")
    page = screens("survey")
    for order, accepted in ACCEPTED.items():
        page.locator(LINE).fill("")
        page.locator(LINE).focus()
        page.evaluate(DISPATCH, [LINE, composed("", "日本語", accepted)])
        assert page.evaluate("document.activeElement.name") == "field", order
    assert sent == ["日本語"] * len(ACCEPTED)


def test_a_real_composition_is_sent_when_it_is_accepted(screens: Screens, sent: list[str]) -> None:
    """Chromium's own: what is proposed, Enter, the word that is accepted, and an Enter that sends."""
    page = screens("chat")
    page.locator(BOX).focus()
    session = page.context.new_cdp_session(page)
    enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229}
    for word, shown in (("に", "に"), ("にほ", "にほ"), ("日本", "日本")):
        session.send("Input.imeSetComposition", {"text": word, "selectionStart": len(word), "selectionEnd": len(word)})
        expect(page.locator(BOX)).to_have_value(shown)
    session.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **enter})
    session.send("Input.insertText", {"text": "日本"})
    session.send("Input.dispatchKeyEvent", {"type": "keyUp", **enter})
    session.send("Input.imeSetComposition", {"text": "語", "selectionStart": 1, "selectionEnd": 1})
    session.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **enter})
    session.send("Input.insertText", {"text": "語"})
    expect(page.locator(BOX)).to_have_value("日本語")
    with page.expect_response("**/api/act"):
        page.keyboard.press("Enter")
    assert sent == ["日本語"]
    session.detach()
