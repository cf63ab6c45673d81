"""The editor of study files in the console: completion, help, and faults that lead to their place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.axe import Audit
from tests.browser.researcher import LONG_MS, AtConsole
from tests.fakes.accounts import GOOD, ada_and_bob
from tests.fakes.model_server import serve
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
CORRECT = DRAFT.replace("scribted", "scripted") + "  - {step: finish, code: X}\n"
FLOW = "flow:\n  - step: survey\n    questions:\n      - type: slider\n        "
SCHEMA = """async ([text, ask]) => {
  const { explained, placeAt, suggestions } = await import("/console/study_schema.js");
  const schema = await (await fetch("/console/study.schema.json")).json();
  const place = placeAt(text.replace("^", ""), text.indexOf("^"));
  return place && (ask ? explained(schema, place) : suggestions(schema, place).map(({ label }) => label));
}"""


@pytest.fixture(scope="module")
def ada(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtConsole]:
    """At the draft, in its editor."""
    folder = tmp_path_factory.mktemp("console")
    (folder / "studies/draft").mkdir(parents=True)
    (folder / "studies/draft/study.yaml").write_text(DRAFT, encoding="utf-8")
    console = Process(folder, (), command="console")
    with serve() as models, ada_and_bob(console.database_url):
        console.env |= {"PARLEY_OPENAI_BASE_URL": models.base_url, "PARLEY_OPENAI_API_KEY": "sk-of-the-fake"}
        console.env["PARLEY_TOKEN_GAP_TIMEOUT_S"] = "8"
        console.start()
        context = browser.new_context(reduced_motion="reduce")
        made = AtConsole(context.new_page(), console.url)
        made.log_in("ada", GOOD)
        made.open("Edit")
        made.at("study-text").locator(".cm-line").first.wait_for()
        yield made
        context.close()
        console.stop()
    assert "Traceback" not in console.log


@pytest.fixture
def editor(ada: AtConsole) -> AtConsole:
    ada.rewrite("study-text", DRAFT)
    expect(ada.at("faults").locator("[data-line]")).to_have_count(2, timeout=LONG_MS)
    return ada


def selected(ada: AtConsole) -> str:
    return str(ada.page.evaluate("getSelection().toString()"))


def test_a_fault_in_the_list_selects_its_place(editor: AtConsole) -> None:
    fault = editor.at("faults").get_by_role("button", name="scribted")
    fault.click()
    expect(editor.at("study-text").locator(".cm-activeLine")).to_contain_text("scribted")
    assert selected(editor) == "backend: scribted"
    editor.page.keyboard.insert_text("backend: scripted")
    expect(fault).to_have_count(0, timeout=LONG_MS)


def test_a_fault_is_selected_by_keyboard_and_after_characters_of_two_units(editor: AtConsole) -> None:
    editor.rewrite("study-text", DRAFT.replace("one: {", "one: {model: 😀😀, "))
    fault = editor.at("faults").get_by_role("button", name="scribted")
    column = len("  one: {model: 😀😀, ") + 1
    expect(fault).to_have_attribute("data-column", str(column), timeout=LONG_MS)  # the new text is checked
    fault.focus()
    editor.page.keyboard.press("Enter")
    expect(editor.at("study-text").locator(".cm-activeLine")).to_contain_text("scribted")
    assert selected(editor) == "backend: scribted"


def test_faults_are_marked_in_the_text_and_beside_it(editor: AtConsole) -> None:
    text = editor.at("study-text")
    expect(text.locator(".cm-lintRange-error").first).to_have_text("backend: scribted")
    assert text.locator(".cm-lint-marker-error").count() == 2


def test_passing_the_picker_of_studies_puts_no_question_away(editor: AtConsole) -> None:
    """Gradio says that a study was chosen each time that the focus leaves the picker."""
    editor.rewrite("study-text", CORRECT)
    expect(editor.at("faults").locator(".verdict.good")).to_be_visible(timeout=LONG_MS)
    editor.press("publish-ask")
    expect(editor.at("publishing")).to_be_focused(timeout=LONG_MS)
    editor.at("study").get_by_role("combobox").focus()
    editor.page.keyboard.press("Tab")
    editor.quiet()
    expect(editor.at("publishing")).to_be_visible()
    editor.press("publish-no")
    expect(editor.at("publishing")).to_have_count(0, timeout=LONG_MS)


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


def test_a_key_is_explained_at_the_cursor_and_under_the_mouse(editor: AtConsole) -> None:
    editor.rewrite("study-text", DRAFT + "on_identity_leak: flag")
    expect(editor.at("study-text-help")).to_contain_text("Allowed: flag, mask, regenerate", timeout=LONG_MS)
    editor.at("study-text").get_by_text("consent").hover()
    expect(editor.at("study-text").locator(".cm-tooltip .cm-help")).to_contain_text("step ", timeout=LONG_MS)


def test_a_reply_under_test_is_shown_while_it_comes(editor: AtConsole) -> None:
    """The model stops in the middle of its reply, until it has been silent for too long."""
    study = DRAFT.replace(
        "{backend: scribted}", '{backend: openai, model: "fault:hang-midway", options: {reasoning_until: ""}}'
    )
    editor.rewrite("study-text", study + "  - step: finish\n")
    editor.at("faults").locator(".verdict.good").wait_for(timeout=LONG_MS)
    editor.press("models-test")
    expect(editor.at("models-tested").locator("dl.live dd")).to_have_text(re.compile(r"\w+"), timeout=LONG_MS)
    expect(editor.at("tested").locator(".failed")).to_contain_text("timeout", timeout=LONG_MS)


def test_tab_does_not_trap_the_focus(editor: AtConsole) -> None:
    text = editor.page.get_by_role("textbox", name="study.yaml")
    text.focus()
    editor.page.keyboard.press("Escape")
    editor.page.keyboard.press("Tab")
    assert not text.evaluate("text => text.contains(document.activeElement)")


def test_nothing_is_wrong_for_assistive_technology(editor: AtConsole, audit: Audit) -> None:
    audit(editor.page)
    editor.rewrite("study-text", DRAFT + "paste: ")
    editor.page.keyboard.press("Control+Space")
    editor.page.get_by_role("listbox").wait_for()
    audit(editor.page)
    editor.page.keyboard.press("Escape")


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("study: a\nfl^", "flow", "study"),
        ("flow:\n  - step: ^", "chat", "shuffled"),
        ("flow:\n- step: c^", "chat", "shuffled"),
        ("flow:\n  - step: chat\n    ma^\n    answer: true", "max_messages", "answer"),
        (FLOW + "^", "minimum", "options"),
        (FLOW.replace("slider", "single_choice") + "^", "options", "minimum"),
        ("flow:\n  - phase: One\n    flow:\n      - each: q\n        order: ^", "latin_square", "chat"),
        ("models:\n  one: {backend: scripted, ^", "temperature", "backend"),
        ("models:\n  one: {options: {wrong: 0.1}, ^}", "backend", "options"),
        ("recruitment: {channels: [pr^", "prolific", "channels"),
        ("recruitment:\n  channels:\n    - pr^", "prolific", "channels"),
        ("session_limits:\n\n  # a comment\n  ^", "time_limit_s", "flow"),
    ],
)
def test_what_can_stand_at_a_place(ada: AtConsole, text: str, wanted: str, unwanted: str) -> None:
    found: Any = ada.page.evaluate(SCHEMA, [text, False])
    assert wanted in found
    assert unwanted not in found


@pytest.mark.parametrize(
    "text", ["flow:\n  - step: info\n    text: |\n      On key: ^", "study: a # on^", 'title: "a # ^']
)
def test_nothing_is_proposed_in_texts_and_comments(ada: AtConsole, text: str) -> None:
    assert not ada.page.evaluate(SCHEMA, [text, False])


def test_a_kind_of_step_is_explained(ada: AtConsole) -> None:
    chat: Any = ada.page.evaluate(SCHEMA, ["flow:\n  - step: chat^", True])
    info: Any = ada.page.evaluate(SCHEMA, ["flow:\n  - step: info^", True])
    assert chat["key"] == info["key"] == "step"
    assert chat["info"] != info["info"] != ""
