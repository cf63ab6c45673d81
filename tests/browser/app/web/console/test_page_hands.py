"""The console under hasty hands: buttons that are pressed twice, lists that are typed into, tabs that are left."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Route, expect

from app.web.console.event_validation import EVENTS
from app.web.console.security import MOST_BODY
from tests.browser.app.web.console.tabs.test_sessions import wait_for
from tests.browser.filled import DRAFT, RECRUITED, STUDY
from tests.browser.researcher import AtConsole
from tests.browser.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]


def go(ada: AtConsole, tab: str, study: str = STUDY) -> None:
    ada.page.goto(f"{ada.url}/?study={study}&tab={tab}")
    ada.quiet()


def twice(button: Locator) -> None:
    """Two presses that are no double click, as somebody makes them who waits for an answer."""
    button.click()
    button.click()


@pytest.mark.parametrize("press", [Locator.dblclick, twice], ids=["a double click", "two clicks"])
def test_what_is_pressed_twice_is_done_once_and_refused_never(ada: AtConsole, press: Callable[[Locator], None]) -> None:
    page, held = ada.page, list[Route]()
    page.goto(f"{ada.url}/?study={STUDY}&tab=sessions&session=1")
    ada.reads("session-head", "Session 1")
    ada.quiet()
    for button, said in (("exclude", "is excluded"), ("include", "is included again")):
        ada.write("session-said", "a reason")
        ada.quiet()
        page.route(f"**{EVENTS}?*", lambda route: held.append(route))
        press(ada.at(f"session-{button}"))
        wait_for(ada, lambda: bool(held))
        held.pop().continue_()
        page.unroute(f"**{EVENTS}?*")
        ada.reads("note", said)
        ada.quiet()
        ada.reads("note", said)
        assert not held, "and was sent once"


def test_the_page_is_loaded_again_once_the_server_answers_and_asks_before_what_is_typed_is_gone(ada: AtConsole) -> None:
    page, asked = ada.page, list[str]()
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    go(ada, "runs")  # its seed was typed by nobody
    page.evaluate("window.first = true")
    page.context.set_offline(True)
    page.get_by_role("radio", name="Rehearse the day").check()
    until(page, "window.parleyConsole.lost")
    page.context.set_offline(False)
    until(page, "!window.first")
    ada.quiet()
    go(ada, "studies")
    page.evaluate("window.first = true")
    ada.at("new-name").locator("input, textarea").first.press_sequentially("typed")
    page.context.set_offline(True)
    ada.open("Overview")
    ada.open("Recruit")
    until(page, "window.parleyConsole.lost")
    page.context.set_offline(False)
    wait_for(ada, lambda: bool(asked))
    assert (asked, page.evaluate("window.first")) == (["beforeunload"], True)
    ada.write("new-name", "")


def field(ada: AtConsole, elem_id: str) -> Locator:
    return ada.at(elem_id).get_by_role("combobox")


def test_no_list_takes_a_text_for_a_choice(ada: AtConsole) -> None:
    """But the one that says so: see the pools of Items."""
    page = ada.page
    go(ada, "studies")
    ada.press("new-build")
    ada.reads("builder-text", "flow:")
    ada.quiet()
    server = field(ada, "b-models-0-server")
    before = server.input_value()
    server.click()
    page.keyboard.type("olla")
    page.keyboard.press("Tab")
    expect(server).to_have_value(before)
    ada.quiet()
    expect(ada.at("builder-text")).not_to_contain_text("olla")
    ada.press("b-cancel")
    ada.quiet()
    ada.open("Accounts")
    ada.quiet()
    account = field(ada, "people-account")
    account.click()
    page.keyboard.type("zzz")
    page.keyboard.press("Tab")
    expect(account).to_have_value("")


def test_another_account_is_not_removed_by_the_tick_for_the_one_before(ada: AtConsole) -> None:
    go(ada, "accounts")
    ada.choose("people-account", "Bob")
    ada.at("people-sure").get_by_role("checkbox").check()
    ada.choose("people-account", "Ada")
    expect(ada.at("people-sure").get_by_role("checkbox")).not_to_be_checked()


WRITTEN = """study: {study}
title: A draft
contact: you@example.org
flow:
  - {{step: info, id: {step}, text: Hi}}
  - {{step: finish, code: X}}
"""


def test_the_preview_is_of_what_was_just_written(ada: AtConsole) -> None:
    """Also where it is saved only when the preview is open already."""
    page, held = ada.page, list[Route]()
    go(ada, "studies", DRAFT)
    for step in ("first", "second"):
        ada.open("Edit")
        page.route(
            f"**{EVENTS}?*",
            lambda one: held.append(one) if "A draft" in (one.request.post_data or "") else one.continue_(),
        )
        ada.rewrite("study-text", WRITTEN.format(study=DRAFT, step=step))
        wait_for(ada, lambda: bool(held))
        ada.open("Preview")
        expect(ada.at("walk-form")).to_be_visible()
        held.pop().continue_()
        page.unroute(f"**{EVENTS}?*")
        ada.quiet()
        field(ada, "walk-step").click()
        expect(page.get_by_role("option", name=step)).to_have_count(1)
        page.keyboard.press("Escape")
        page.keyboard.press("Tab")


GOOD = [("good", "study: brought\ntitle: Brought\nflow:\n- step: finish\n", "status")]
PASTE = """(text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text", text);
  document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""


def test_a_file_that_is_too_large_or_none_is_refused_aloud_and_a_good_one_said_to_be_there(ada: AtConsole) -> None:
    page, large = ada.page, b"Participant id,Status\n" + b"x" * MOST_BODY
    go(ada, "payments", RECRUITED)
    chosen = {"name": "export.csv", "mimeType": "text/csv", "buffer": large}
    page.set_input_files("[data-into='#payments-export textarea']", chosen)  # type: ignore[arg-type]
    refused = page.locator("#refused[role=alert]")
    expect(refused).to_contain_text(f"{len(large):,}")
    box = ada.at("payments-export").get_by_role("textbox")
    expect(box).to_have_value("")
    box.click()
    expect(refused).to_have_count(0)
    page.evaluate(PASTE, large.decode())
    expect(refused).to_be_visible()
    expect(box).to_have_value("")
    go(ada, "studies")
    for name, text, role in (("empty", "", "alert"), ("README", "# No\n\nstudy: file: at all", "alert"), *GOOD):
        file = {"name": f"{name}.yaml", "mimeType": "text/yaml", "buffer": text.encode()}
        page.set_input_files("[data-into='#new-file textarea']", file)  # type: ignore[arg-type]
        expect(ada.at("note").get_by_role(role)).to_be_visible()  # type: ignore[arg-type]
        ada.quiet()
        expect(ada.at("note").get_by_role(role)).to_be_visible()  # type: ignore[arg-type]


def test_a_reload_keeps_the_tab_of_a_study_and_back_leads_to_the_one_before(ada: AtConsole) -> None:
    page = ada.page
    page.goto(f"{ada.url}/?study={STUDY}&tab=studies")
    ada.quiet()
    page.get_by_role("tab", name="Versions", exact=True).click()
    ada.quiet()
    page.reload()
    expect(page.get_by_role("tab", name="Versions", exact=True)).to_have_attribute("aria-selected", "true")
    ada.quiet()
    for tab in ("Monitoring", "Sessions"):
        page.get_by_role("tab", name=tab, exact=True).click()
        ada.quiet()
    for tab in ("Monitoring", "Studies"):
        page.go_back()
        expect(page.get_by_role("tab", name=tab, exact=True)).to_have_attribute("aria-selected", "true")
        ada.quiet()
    expect(page.get_by_role("tab", name="Versions", exact=True)).to_have_attribute("aria-selected", "true")
