"""The builder in a browser, by the keyboard alone: from the button to a study that participants can open."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from app.studies.loader import read_yaml
from tests.browser.axe import Audit
from tests.browser.researcher import LONG_MS, AtConsole
from tests.fakes.accounts import GOOD
from tests.fakes.served import Process

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.nightly,
]  # on a machine that does much else
MOST_TABS = 120


@pytest.fixture
def ada(console: Process, new_context: Callable[..., BrowserContext]) -> AtConsole:
    """Ada at it, in a tab of a browser of her own: answers are kept by tab."""
    made = AtConsole(new_context(reduced_motion="reduce").new_page(), console.url)
    made.log_in("Ada", GOOD)
    return made


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until something has the focus (Esc before it in the editor); fails if it is never reached."""
    for _ in range(MOST_TABS):
        if wanted.evaluate("one => one === document.activeElement"):
            return
        if page.evaluate("document.activeElement.closest('.cm-editor') !== null"):
            page.keyboard.press("Escape")
        page.keyboard.press("Tab")
    raise AssertionError(f"{wanted} is not reached by Tab")


def type_into(ada: AtConsole, field: str, words: str) -> None:
    tab_to(ada.page, ada.at(field).locator("input, textarea").first)
    ada.page.keyboard.type(words)


def press(ada: AtConsole, button: str) -> None:
    tab_to(ada.page, ada.page.locator(f"button#{button}"))
    ada.page.keyboard.press("Enter")


def test_what_is_pasted_deleted_and_cut_is_in_the_file_like_what_is_typed(ada: AtConsole) -> None:
    page, title = ada.page, ada.at("b-title").locator("input, textarea").first
    ada.press("new-build")
    ada.at("builder-verdict").locator("ul.todo").wait_for(timeout=LONG_MS)
    ada.write("b-consent", "You agree to all of it.")  # as a paste does, without a key
    ada.reads("builder-text", "You agree to all of it.")
    title.click()
    page.keyboard.type("Tones")
    ada.reads("builder-text", "title: Tones")
    page.keyboard.press("Backspace")
    expect(ada.at("builder-text")).not_to_contain_text("Tones", timeout=LONG_MS)
    page.keyboard.press("Control+A")
    page.keyboard.press("Control+X")
    expect(ada.at("builder-text")).not_to_contain_text("Tone", timeout=LONG_MS)
    page.keyboard.press("Control+V")
    ada.reads("builder-text", "title: Tone")


def test_a_reload_loses_no_answer(ada: AtConsole) -> None:
    page = ada.page
    ada.press("new-build")
    ada.at("b-model_count").get_by_role("radio", name="2").check()
    prompt = ada.at("b-system").locator("textarea")
    ada.quiet()
    prompt.fill("Be brief.")
    ada.quiet()
    for room in ("Export", "Studies"):
        ada.open(room)
        ada.quiet()
    expect(prompt).to_have_value("Be brief.", timeout=LONG_MS)  # the form is there when one comes back
    page.reload()
    ada.quiet()
    ada.press("new-build")
    expect(prompt).to_have_value("Be brief.", timeout=LONG_MS)
    expect(ada.at("builder-text")).to_contain_text("system: Be brief.", timeout=LONG_MS)


def test_a_study_is_built_and_published_by_the_keyboard(ada: AtConsole, audit: Audit, console: Process) -> None:
    page = ada.page
    press(ada, "new-build")
    ada.at("builder-verdict").locator("ul.todo").wait_for(timeout=LONG_MS)
    audit(page)

    type_into(ada, "b-name", "tones")
    tab_to(page, page.get_by_role("checkbox", name="answer-first:"))
    page.keyboard.press("Space")
    across = ada.at("b-protocols_across").get_by_role("radio", name="one of them")
    tab_to(page, across)
    page.keyboard.press("ArrowDown")
    expect(ada.at("builder-text")).to_contain_text("vary:", timeout=LONG_MS)
    type_into(ada, "b-take", "2")
    page.keyboard.press("Tab")
    expect(page.get_by_role("listbox", name="Order")).to_be_visible()
    tab_to(page, ada.at("b-model_count").get_by_role("radio", name="1"))
    page.keyboard.press("ArrowRight")
    expect(ada.at("b-models-1-name")).to_be_visible(timeout=LONG_MS)
    type_into(ada, "b-models-0-name", "first")
    type_into(ada, "b-models-1-name", "second")
    press(ada, "b-test")
    expect(page.get_by_role("listbox")).to_have_count(0)
    expect(ada.at("tested").locator(".replied")).to_have_count(2, timeout=LONG_MS)
    type_into(ada, "b-title", "Tones of voice")
    type_into(ada, "b-consent", "You agree.")
    type_into(ada, "b-instructions", "It is {{model}}.")
    for part in ("- second", "- answer-first", "title: Tones of voice", "It is {{model}}."):
        ada.reads("builder-text", part)
    ada.at("builder-verdict").locator(".verdict.good").wait_for(timeout=LONG_MS)

    press(ada, "b-create")
    ada.reads("study-title", "Tones of voice")
    expect(ada.at("builder")).to_have_count(0)
    ada.at("faults").locator(".verdict.good").wait_for(timeout=LONG_MS)
    written = read_yaml(console.folder / "studies" / "tones" / "study.yaml")
    (loop,) = (node for node in written["flow"] if "each" in node)
    assert written["factors"]["model"] == ["first", "second"]
    assert loop["vary"]["condition"][0] == "answer-first"
    ada.quiet()
    press(ada, "publish-ask")
    expect(ada.at("publishing")).to_be_focused(timeout=LONG_MS)
    tab_to(page, page.locator("button#publish-yes"))
    page.keyboard.press("Enter")
    expect(page.locator("button#decide-opened")).to_be_visible(timeout=LONG_MS)
    press(ada, "decide-opened")
    expect(ada.at("study-title")).to_contain_text("open", timeout=LONG_MS)
    assert ada.complaints == []
