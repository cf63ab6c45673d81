"""The console by mouse and keyboard: filters that act at once, a replay, links that are copied."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from app.web.console.event_validation import EVENTS
from tests.browser.axe import Audit
from tests.browser.filled import SESSIONS, STUDY
from tests.browser.researcher import AtConsole
from tests.browser.waiting import LOOK_MS, MOST_S

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]


def listed(ada: AtConsole, number: int) -> None:
    """Wait until so many sessions match, and the list has them."""
    ada.at("sessions-list").locator(f"[data-matching='{number}']").wait_for()
    expect(ada.at("sessions-list").locator("tbody tr")).to_have_count(number)


def test_nothing_in_a_tab_can_be_changed_until_it_is_painted(ada: AtConsole) -> None:
    """What was chosen before would be undone by the answer."""
    opened_late(ada, Route.continue_)
    ada.choose("sessions-origin", "simulated")
    listed(ada, SESSIONS)


def opened_late(ada: AtConsole, end: Callable[[Route], None]) -> None:
    """Open a tab whose event is held until the tab was seen to be shut, and see it open when the event ends."""
    held: list[Route] = []
    ada.page.goto(f"{ada.url}/?study={STUDY}")
    ada.reads("study-title", STUDY)
    ada.page.route(f"**{EVENTS}?*", lambda route: held.append(route))
    ada.open("Sessions")
    panel = ada.page.locator("#rooms > [role=tabpanel]", has=ada.at("sessions-filters"))
    expect(panel).to_have_attribute("inert", "")
    wait_for(ada, lambda: bool(held))
    end(held.pop())
    ada.page.unroute(f"**{EVENTS}?*")
    expect(panel).not_to_have_attribute("inert", "")


def test_an_event_waits_for_the_same_event_before_it_and_for_no_other(ada: AtConsole) -> None:
    """Or else the server works on both at once, and the older answer may be painted last."""
    asked: list[tuple[int, Route]] = []
    ada.page.goto(f"{ada.url}/?study={STUDY}")
    ada.reads("study-title", STUDY)
    ada.quiet()
    ada.page.route("**/in-turn/**", lambda route: asked.append((route.request.post_data_json["fn_index"], route)))
    send = "([number, times]) => { for (let i = 0; i < times; i++) fetch('/in-turn/gradio_api/run/predict', "
    send += "{ method: 'POST', body: JSON.stringify({ fn_index: number }) }); }"
    ada.page.evaluate(send, [1, 2])
    ada.page.evaluate(send, [2, 1])
    wait_for(ada, lambda: len(asked) == 2)
    assert [number for number, _ in asked] == [1, 2], "the second of the first event is not sent yet"
    asked[0][1].fulfill(json={})
    wait_for(ada, lambda: len(asked) == 3)
    assert asked[2][0] == 1
    for _, route in asked[1:]:
        route.fulfill(json={})
    ada.page.unroute("**/in-turn/**")


def wait_for(ada: AtConsole, happened: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + MOST_S
    while not happened():
        assert time.monotonic() < give_up_s
        ada.page.wait_for_timeout(LOOK_MS)


def test_a_link_is_copied(ada: AtConsole, audit: Audit) -> None:
    ada.page.goto(f"{ada.url}/?study={STUDY}&tab=studies")
    row = ada.at("study-about").locator(".links > div", has_text="Pilot")
    row.get_by_role("button", name="Copy the link").press("Enter")
    expect(row.get_by_role("button", name="Copied")).to_be_visible()
    link = row.locator("code").inner_text()
    assert f"/s/{STUDY}?parley_pilot=" in link
    assert ada.page.evaluate("navigator.clipboard.readText()") == link
    row.get_by_text("QR code").first.click()
    expect(row.get_by_role("img", name="QR code")).to_be_visible()
    audit(ada.page)
