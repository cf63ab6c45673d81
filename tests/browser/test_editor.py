"""The editor of study files in the console: completion, help, and faults that lead to their place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from app.web.gradio_page import EVENTS
from tests.browser.app.web.console.tabs.test_sessions import wait_for
from tests.browser.axe import Audit
from tests.browser.researcher import LONG_MS, AtConsole
from tests.browser.waiting import until
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
DRAFT = """study: draft
title: A 😀 draft
models:
  one: {backend: scribted}
flow:
  - step: consent
    text: Agree.
"""
OTHERS = ("mine", "other")
CORRECT = DRAFT.replace("scribted", "scripted") + "  - {step: finish, code: X}\n"
FLOW = "flow:\n  - step: survey\n    questions:\n      - type: slider\n        "
SCHEMA = """async (text) => {
  const { placeAt, suggestions } = await import("/console/study_schema.js");
  const schema = await (await fetch("/console/study.schema.json")).json();
  const place = placeAt(text.replace("^", ""), text.indexOf("^"));
  return suggestions(schema, place).map(({ label }) => label);
}"""


@pytest.fixture(scope="module")
def studies(console: Process) -> Path:
    """The folder of the console's drafts, with those of this file."""
    folder = console.folder / "studies"
    for name in ("draft", *OTHERS):
        (folder / name).mkdir(parents=True)
        (folder / name / "study.yaml").write_text(DRAFT.replace("draft", name, 1), encoding="utf-8")
    return folder


@pytest.fixture
def editor(ada: AtConsole, studies: Path) -> AtConsole:
    """At a draft with two faults, in its editor."""
    if "study=draft&" not in ada.page.url:
        ada.page.goto(f"{ada.url}/?study=draft&tab=studies")
        ada.quiet()
        ada.open("Edit")
        ada.at("study-text").locator(".cm-line").first.wait_for()
    ada.rewrite("study-text", DRAFT)
    expect(ada.at("faults").locator("[data-line]")).to_have_count(2, timeout=LONG_MS)
    return ada


class Held:
    """Requests of a page that wait until they are let go."""

    def __init__(self, page: Page) -> None:
        self._routes: list[Route] = []
        self._free = False
        page.route(f"**{EVENTS}*", lambda route: route.continue_() if self._free else self._routes.append(route))

    def let_go(self) -> None:
        """Send what was held, and whatever is asked from now on."""
        self._free = True
        for route in self._routes:
            route.continue_()


@pytest.fixture
def mine(studies: Path) -> Path:
    """Another draft, without errors."""
    path = studies / "mine/study.yaml"
    path.write_text(CORRECT.replace("draft", "mine", 1), encoding="utf-8")
    return path


@pytest.fixture
def typist(ada: AtConsole, mine: Path) -> Iterator[AtConsole]:
    """At the other draft, in a tab of its own."""
    made = at_mine(ada)
    yield made
    made.page.close()


def at_mine(ada: AtConsole) -> AtConsole:
    made = AtConsole(ada.page.context.new_page(), ada.url)
    made.page.goto(f"{ada.url}/?study=mine&tab=studies")
    made.quiet()
    to_the_text(made)
    return made


def to_the_text(at: AtConsole) -> None:
    """Open the editor, and go to the end of the text."""
    at.open("Edit")
    at.at("study-text").locator(".cm-content").click()
    at.page.keyboard.press("Control+End")


def typed_on(at: AtConsole) -> Held:
    """Write on while the first words are still being saved."""
    held = Held(at.page)
    with at.page.expect_request(f"**{EVENTS}*"):
        at.page.keyboard.insert_text("# first")
    at.page.keyboard.insert_text(" last words")
    return held


WRITTEN = "# first last words"


@pytest.mark.nightly
def test_the_last_words_are_saved_before_another_study_is_shown(typist: AtConsole, mine: Path) -> None:
    held = typed_on(typist)
    typist.choose("study", "other")
    held.let_go()
    typist.reads("study-title", "other")
    assert mine.read_text(encoding="utf-8").endswith(WRITTEN)
    assert "first" not in (mine.parents[1] / "other/study.yaml").read_text(encoding="utf-8")


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["refused", "unanswered", "logged out"])
def test_a_text_that_could_not_be_saved_is_kept_and_saved_later(typist: AtConsole, mine: Path, how: str) -> None:
    """With the next key; or, as Gradio sends nothing more then, once the page is loaded again."""
    page, cookies = typist.page, typist.page.context.cookies()
    refuse = {"status": 503, "json": {"error": "for a test"}}
    if how == "logged out":
        page.context.clear_cookies()
    else:
        page.route("**", lambda route: route.fulfill(**refuse) if how == "refused" else route.abort())
    page.keyboard.insert_text("# first")
    if how == "logged out":
        page.get_by_label("Password").wait_for()
        page.context.add_cookies(cookies)  # of the login that the other tests have
        page.goto(f"{typist.url}/?study=mine&tab=studies")
    else:
        expect(typist.at("study-text").get_by_role("alert")).to_contain_text("Not saved")
        with page.expect_event("load") if how == "unanswered" else nullcontext():
            page.unroute_all()
    if how != "refused":
        typist.quiet()
        to_the_text(typist)
        typist.reads("study-text", "# first")
    page.keyboard.insert_text(" last words")
    expect(typist.at("faults").get_by_text("Saved.")).to_be_visible()
    expect(typist.at("study-text").get_by_role("alert")).to_have_count(0)
    wait_for(typist, lambda: mine.read_text(encoding="utf-8").endswith(WRITTEN))


@pytest.mark.nightly
def test_a_text_that_is_not_saved_is_told_beside_it_and_not_published(
    ada: AtConsole, typist: AtConsole, mine: Path
) -> None:
    second = at_mine(ada)
    typist.page.keyboard.insert_text("# of the first tab")
    expect(typist.at("faults").get_by_text("Saved.")).to_be_visible()
    second.page.keyboard.insert_text("# of the second tab")
    refused = second.at("writing").get_by_role("alert")
    expect(refused).to_contain_text("not saved", ignore_case=True)
    expect(second.at("faults")).to_be_hidden()
    second.open("Preview")
    second.open("Edit")
    expect(refused).to_be_visible()
    second.press("publish-ask")
    second.reads("note", "not saved")
    expect(second.at("publishing")).to_be_hidden()
    second.reads("study-text", "of the second tab")
    second.page.reload()  # it is no loss even so
    second.quiet()
    to_the_text(second)
    expect(refused).to_be_visible()
    second.reads("study-text", "of the second tab")
    second.page.get_by_role("button", name="Discard my text").click()
    second.reads("study-title", "mine")
    second.quiet()
    to_the_text(second)
    second.reads("study-text", "of the first tab")
    expect(refused).to_be_hidden()
    second.page.keyboard.insert_text(", and more")
    expect(second.at("faults").get_by_text("Saved.")).to_be_visible()
    wait_for(second, lambda: mine.read_text(encoding="utf-8").endswith("# of the first tab, and more"))
    second.page.close()


@pytest.mark.nightly
def test_a_fault_is_selected_by_keyboard_and_after_characters_of_two_units(editor: AtConsole) -> None:
    editor.rewrite("study-text", DRAFT.replace("one: {", "one: {model: 😀😀, "))
    fault = editor.at("faults").get_by_role("button", name="scribted")
    column = len("  one: {model: 😀😀, ") + 1
    expect(fault).to_have_attribute("data-column", str(column), timeout=LONG_MS)  # the new text is checked
    fault.focus()
    editor.page.keyboard.press("Enter")
    expect(editor.at("study-text").locator(".cm-activeLine")).to_contain_text("scribted")
    until(editor.page, "getSelection().toString() === 'backend: scribted'")


@pytest.mark.nightly
def test_keys_and_values_are_completed(editor: AtConsole) -> None:
    editor.rewrite("study-text", DRAFT + "  - step: chat\n    on_fai")
    options = editor.page.get_by_role("listbox").get_by_role("option")
    options.filter(has_text="on_failure").click()
    expect(editor.at("study-text")).to_contain_text("on_failure: ")
    editor.page.keyboard.press("Escape")
    editor.rewrite("study-text", DRAFT + "paste: ")
    editor.page.keyboard.press("Control+Space")
    expect(options).to_have_text(["allow", "block", "log"], timeout=LONG_MS)
    editor.page.keyboard.press("Escape")


@pytest.mark.nightly
def test_nothing_is_wrong_for_assistive_technology(editor: AtConsole, audit: Audit) -> None:
    audit(editor.page)
    editor.rewrite("study-text", DRAFT + "paste: ")
    editor.page.keyboard.press("Control+Space")
    editor.page.get_by_role("listbox").wait_for()
    audit(editor.page)
    editor.page.keyboard.press("Escape")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("study: a\nfl^", "flow", "study"),
        ("flow:\n  - step: ^", "chat", "shuffled"),
        ("flow:\n  - step: chat\n    ma^\n    answer: true", "max_messages", "answer"),
        (FLOW + "^", "minimum", "options"),
        ("flow:\n  - phase: One\n    flow:\n      - each: q\n        order: ^", "latin_square", "chat"),
        ("models:\n  one: {backend: scripted, ^", "temperature", "backend"),
        ("recruitment:\n  channels:\n    - pr^", "prolific", "channels"),
    ],
)
def test_what_can_stand_at_a_place(ada: AtConsole, text: str, wanted: str, unwanted: str) -> None:
    found: Any = ada.page.evaluate(SCHEMA, text)
    assert wanted in found
    assert unwanted not in found
