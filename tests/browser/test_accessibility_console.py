"""Every room of the console, and the pages around it, by axe-core; as test_accessibility does for participants."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.axe import Audit
from tests.browser.filled import DRAFT, STUDY
from tests.browser.researcher import AtConsole

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]


# The study and the tab of each, the tab within it, and what shows that it is painted.
ROOMS = {
    "studies": (STUDY, "Studies", "", "#bench"),
    "preview": (STUDY, "Studies", "Preview", "#walk-go"),
    "versions": (STUDY, "Studies", "Versions", "#version-shown pre"),
    "edit": (DRAFT, "Studies", "Edit", "#study-text .cm-line"),
    "monitoring": (STUDY, "Monitoring", "", "#live-body table"),
    "sessions": (STUDY, "Sessions", "", "#sessions-list table"),
    "session": (STUDY, "Sessions", "Transcript", "#session-story .visit"),
    "replay": (STUDY, "Sessions", "Replay", "#session-page iframe"),
    "export": (STUDY, "Export", "", "#data-preview table"),
    "servers": (STUDY, "Model servers", "", "#servers h2"),
    "accounts": (STUDY, "Accounts", "", "#people-deeds table"),
}


def enter(ada: AtConsole, study: str, tab: str, part: str, painted: str) -> None:
    """Go to a room by clicks; on a narrow screen the last tabs are in a menu."""
    ada.page.set_viewport_size({"width": 1280, "height": 800})
    if ada.at("study").locator("input").input_value() != study:
        ada.choose("study", study)
    ada.open(tab)
    ada.quiet()
    if ada.at("session-back").is_visible():  # a replay hides the list
        ada.press("session-back")
    if tab == "Sessions":
        ada.choose("sessions-origin", "simulated")
    if part and tab == "Sessions":
        ada.at("sessions-list").locator("tbody a").first.click()
        ada.reads("session-head", "Session")
    if part:
        ada.open(part)
    ada.page.locator(painted).first.wait_for()


# A form, and tables with charts: the short run hears of what the others share with them.
DAILY = {"monitoring"}


@pytest.mark.parametrize(
    "room", [room if room in DAILY else pytest.param(room, marks=pytest.mark.nightly) for room in ROOMS]
)
def test_a_room(ada: AtConsole, audit: Audit, room: str) -> None:
    enter(ada, *ROOMS[room])
    audit(ada.page)


def test_the_page_before_the_console(ada: AtConsole, new_context: Callable[..., BrowserContext], audit: Audit) -> None:
    page = new_context(reduced_motion="reduce").new_page()
    page.goto(ada.url)
    page.get_by_label("Name").fill("nobody")
    page.get_by_label("Password").fill("nothing that is right")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()
    audit(page)


@pytest.mark.nightly
def test_a_group_of_options_in_the_console_is_one_stop_with_arrows(ada: AtConsole) -> None:
    """Gradio gives each option a name of its own; console.js mends it, and Gradio still hears of the choice."""
    enter(ada, *ROOMS["monitoring"])
    ada.quiet()
    group = ada.page.get_by_role("radiogroup", name="Session origin")
    group.get_by_role("radio", name="Simulated").focus()
    ada.page.keyboard.press("ArrowLeft")
    expect(group.get_by_role("radio", name="Pilot")).to_be_checked()
    ada.at("live-head").locator("[data-empty]").wait_for()
    ada.page.keyboard.press("ArrowRight")
    expect(group.get_by_role("radio", name="Simulated")).to_be_checked()
    ada.quiet()
    ada.page.keyboard.press("Tab")
    assert not group.evaluate("group => group.contains(document.activeElement)")
