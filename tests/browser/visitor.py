"""A person at the page: what they see and do, said as one would tell somebody to try it out."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Locator, Page, Request, expect

from tests.browser.waiting import settled, until

MARK = "document.querySelector('#left [data-mark]')?.dataset.mark"
REPLIED = """() => {
  const count = (kind) => document.querySelectorAll(`#chat .message.${kind}`).length;
  const answerable = count("you:not(:has(.not-whole))");
  return answerable && count("bot") >= answerable && !document.querySelector("#chat .live")
    && document.documentElement.dataset.waiting === "false";
}"""
COMPARED = """() => {
  const round = document.querySelector("#talk .round:last-child");
  return round && !round.querySelector(".live") && document.documentElement.dataset.waiting === "false";
}"""
MOST_SCREENS = 60
MOST_TABS = 60


class Visitor:
    """Works with the mouse. `at_each` is called on every screen that comes up."""

    def __init__(self, page: Page, url: str, at_each: Callable[[Page], None] = lambda page: None) -> None:
        self.page = page
        self.complaints: list[str] = []
        """What the browser's console said of errors."""
        self.elsewhere: set[str] = set()
        """Hosts other than ours that the page asked."""
        self.said: list[str] = []
        self._url = url
        self._at_each = at_each
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._request)
        page.on("requestfailed", self._request_failed)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    def _request(self, request: Request) -> None:
        host = urlsplit(request.url)
        if host.scheme in ("http", "https", "ws", "wss") and not request.url.startswith(f"{self._url}/"):
            self.elsewhere.add(request.url)

    def _request_failed(self, request: Request) -> None:
        if request.failure == "csp":  # was begun, and never left the browser
            self.elsewhere.discard(request.url)

    # ---- What they see

    @property
    def heading(self) -> str:
        """The screen's heading."""
        return self.page.locator("#heading").inner_text()

    @property
    def text(self) -> str:
        """Everything on the screen's left, in words."""
        return self.page.locator("#left").inner_text()

    @property
    def note(self) -> Locator:
        """The line that tells what went wrong; painted by Gradio, later than the conversation."""
        return self.page.locator("#note")

    @property
    def reply(self) -> str:
        """The last reply, as it is on the screen."""
        return self.page.locator("#chat .message.bot .text").last.inner_text()

    @property
    def mark(self) -> str:
        """What tells one screen from another."""
        return str(self.page.evaluate(MARK))

    @property
    def chatting(self) -> bool:
        """Whether there is a conversation on the screen."""
        return bool(self.page.evaluate("document.documentElement.dataset.layout === 'chat'"))

    @property
    def comparing(self) -> bool:
        """Whether there is a conversation with several models on the screen."""
        return bool(self.page.evaluate("document.documentElement.dataset.layout === 'compare'"))

    @property
    def finished(self) -> bool:
        """Whether the completion code is on the screen."""
        return self.page.locator("#completion-code").count() > 0

    # ---- What they do

    def arrive(self, study: str, query: str = "") -> None:
        """Open the link, press the one button there."""
        self.page.goto(f"{self._url}/s/{study}{query}")
        self.page.get_by_role("button").click()
        self.ready()
        self._at_each(self.page)

    def ready(self) -> None:
        """Wait until the page is painted."""
        until(self.page, f"document.documentElement?.dataset.ready === 'yes' && {MARK}")

    def reload(self) -> None:
        """Reload the page."""
        self.page.reload()
        self.ready()

    def choose(self, field: Locator, number: int) -> None:
        """Click an option."""
        field.locator("label.option").nth(number).click()

    def tick(self, field: Locator) -> None:
        """Tick a box."""
        field.locator("label.option").click()

    def write(self, field: Locator, text: str) -> None:
        """Type into a field."""
        field.locator("input, textarea").fill(text)

    def slide(self, field: Locator) -> None:
        """Put a slider's handle at its middle, which is an answer only once somebody has put it there."""
        expect(field.locator("output")).to_have_text("–")
        field.locator("input[type=range]").click()
        expect(field.locator("output")).to_have_text("50")

    def press(self, button: Locator) -> None:
        """Press a button."""
        button.click()

    def type_message(self, text: str) -> None:
        """Write a message without sending it."""
        self.page.locator("#box textarea").fill(text)

    def send(self) -> None:
        """Send what is written."""
        self.press(self.page.locator("#send"))

    def fill_in(self, form: str = "#left form") -> None:
        """Answer every question of a form."""
        for field in self.page.locator(f"{form} .field").all():
            match field.get_attribute("data-control"):
                case "radio" | "checkbox":
                    self.choose(field, 1)
                case "tick":
                    self.tick(field)
                case "number":
                    self.write(field, "42")
                case "slider":
                    self.slide(field)
                case _:
                    self.write(field, "It went well, thank you.")

    def open_sheet(self) -> None:
        """On a phone, where a question beside a conversation is in a sheet over it, bring it into view."""
        toggle = self.page.locator("#sheet-bar [aria-controls]")
        if toggle.is_visible() and toggle.get_attribute("aria-expanded") == "false":
            self.press(toggle)

    def go_on(self) -> None:
        """Fill in the screen's form, press its button, and be on the next screen, at its heading."""
        self.open_sheet()
        self.fill_in()
        before = self.mark
        self.press(self.page.locator("#left form button[type=submit]"))
        self.arrived_from(before)

    def arrived_from(self, before: str) -> None:
        """Wait for another screen, whose heading then has the focus."""
        until(self.page, f"before => {MARK} !== before && document.activeElement?.id === 'heading'", arg=before)
        self._at_each(self.page)

    def say(self, text: str) -> None:
        """Send a message, and see it in the conversation."""
        self.said.append(text)
        self.type_message(text)
        messages = self.page.locator("#chat .message.you")
        before = messages.count()
        self.send()
        messages.nth(before).wait_for()

    def hear_out(self) -> None:
        """Wait for the whole reply."""
        until(self.page, REPLIED)

    def rate(self) -> None:
        """Rate the reply, if that is asked."""
        if self.page.locator("#side form").count():
            self.fill_in("#side form")
            self.press(self.page.locator("#side form button[type=submit]"))
            self.page.locator("#side form").wait_for(state="detached")

    def ask_both(self, text: str) -> None:
        """Send a message to several models."""
        self.said.append(text)
        before = self.page.locator("#talk .round").count()
        self.type_message(text)
        self.send()
        self.page.locator("#talk .round").nth(before).wait_for()

    def vote(self, words: str) -> None:
        """Vote once all have answered."""
        until(self.page, COMPARED)
        self.press(self.page.get_by_role("button", name=words, exact=True))
        self.page.locator("#talk .round:last-child .voted").wait_for()

    def end_comparing(self) -> None:
        """Go on to the next screen."""
        before = self.mark
        self.press(self.page.locator("#side [type=submit]"))
        self.arrived_from(before)

    def next_screen(self) -> None:
        """Whatever it takes to get to the next screen."""
        if self.comparing:
            self.ask_both("Please explain the Pythagorean theorem.")
            self.vote("B is better")
            self._at_each(self.page)
            return self.end_comparing()
        if self.chatting and not self.page.locator("#chat .message.you").count():
            self.say("Please explain how to begin.")
            self.hear_out()
            self._at_each(self.page)
            self.rate()
        self.go_on()

    def finish(self) -> None:
        """All the way to the completion code."""
        for _ in range(MOST_SCREENS):
            if self.finished:
                return
            self.next_screen()
        raise AssertionError(f"did not finish within {MOST_SCREENS} screens, at {self.heading!r}")

    def until(self, words: str) -> None:
        """On to the screen that has these words on its left, or to the first `chat`."""
        for _ in range(MOST_SCREENS):
            if self.chatting if words == "chat" else re.search(words, self.text):
                return
            self.next_screen()
        raise AssertionError(f"never came to {words!r}")


class KeyboardVisitor(Visitor):
    """Works with Tab, arrows, Space and Enter, and never with the mouse."""

    def _tab_to(self, target: Locator) -> None:
        """Press Tab until the focus is on the target, or in it."""
        handle = target.element_handle()
        for _ in range(MOST_TABS):
            if handle.evaluate("element => element.contains(document.activeElement)"):
                return
            self.page.keyboard.press("Tab")
            settled(self.page)  # so that each stop is seen, as by somebody who looks before going on
        raise AssertionError(f"Tab does not lead to {target}")

    def choose(self, field: Locator, number: int) -> None:
        """One Tab stop for a group; arrows inside a group of radios."""
        self._tab_to(field)
        if field.get_attribute("data-control") == "radio":
            for _ in range(number):
                self.page.keyboard.press("ArrowDown")
        self.page.keyboard.press("Space")
        expect(field.locator("input:checked")).to_have_count(1)

    def tick(self, field: Locator) -> None:
        self._tab_to(field.locator("input"))
        self.page.keyboard.press("Space")

    def write(self, field: Locator, text: str) -> None:
        self._tab_to(field.locator("input, textarea"))
        self.page.keyboard.type(text)

    def slide(self, field: Locator) -> None:
        self._tab_to(field.locator("input[type=range]"))
        self.page.keyboard.press("ArrowRight")
        expect(field.locator("output")).to_have_text("51")

    def press(self, button: Locator) -> None:
        until(self.page, "button => !button.disabled", arg=button.element_handle())
        self._tab_to(button)
        self.page.keyboard.press("Enter")

    def type_message(self, text: str) -> None:
        self._tab_to(self.page.locator("#box textarea"))
        self.page.keyboard.type(text)

    def send(self) -> None:
        self.page.keyboard.press("Enter")
