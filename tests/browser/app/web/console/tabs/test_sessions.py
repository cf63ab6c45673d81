"""The console by mouse and keyboard: filters that act at once, a replay, links that are copied."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from app.web.console.event_validation import EVENTS
from tests.browser.axe import Audit
from tests.browser.filled import SESSIONS, STUDY
from tests.browser.researcher import LONG_MS, AtConsole
from tests.browser.waiting import LOOK_MS, MOST_S

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]


def listed(ada: AtConsole, number: int) -> None:
    """Wait until so many sessions match, and the list has them."""
    ada.at("sessions-list").locator(f"[data-matching='{number}']").wait_for()
    expect(ada.at("sessions-list").locator("tbody tr")).to_have_count(number)


def test_filters_act_at_once_and_say_what_they_did(ada: AtConsole) -> None:
    ada.page.goto(f"{ada.url}/?study={STUDY}&tab=sessions")
    listed(ada, 0)
    ada.at("sessions-list").locator(f"[data-hidden='{SESSIONS}']").wait_for()
    ada.choose("sessions-origin", "simulated")
    listed(ada, SESSIONS)
    ada.write("sessions-text", "2")
    listed(ada, 1)
    ada.write("sessions-since", "2999-01")
    ada.at("sessions-list").locator(".warned").wait_for()
    listed(ada, 1)
    ada.at("sessions-since").locator("input").press_sequentially("-01")
    listed(ada, 0)
    ada.press("sessions-clear")
    expect(ada.at("sessions-text").locator("input")).to_have_value("")
    expect(ada.at("sessions-origin").locator("input")).to_have_value("people, with pilots")
    listed(ada, 0)


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


def test_a_replay_goes_to_a_moment_with_the_chat_beside_the_question(ada: AtConsole) -> None:
    ada.page.goto(f"{ada.url}/?study={STUDY}&tab=sessions&session=1")
    ada.reads("session-head", "Session 1")
    ada.quiet()
    ada.open("Replay")
    moment = ada.at("session-page").locator(".moment b")
    last = int(moment.inner_text())
    go_to_a_reply(ada, last)
    page = ada.page.frame_locator("iframe.replay")
    page.locator("#chat .message.bot").first.wait_for()
    question, chat = (page.locator(part).bounding_box() for part in ("#left-column", "#chat"))
    assert question is not None
    assert chat is not None
    assert question["x"] + question["width"] <= chat["x"] or chat["x"] + chat["width"] <= question["x"]
    assert abs(question["y"] - chat["y"]) < 100
    ada.press("session-back")
    expect(ada.at("sessions-list")).to_be_visible()


def go_to(ada: AtConsole, number: int) -> None:
    """Move the slider to a moment."""
    ada.at("session-moment").locator("input[type=number]").fill(str(number))
    ada.at("session-moment").locator("input[type=number]").press("Enter")
    expect(ada.at("session-page").locator(".moment b")).to_have_text(str(number))


def go_to_a_reply(ada: AtConsole, last: int) -> None:
    """Move the slider back to the last moment at which a reply had just come."""
    for number in range(last - 1, 0, -1):  # at the last one, where the page is, nothing would come to wait for
        go_to(ada, number)
        if ada.at("session-page").locator(".moment .tag").inner_text() == "reply received":
            return
    raise AssertionError("no reply in this session")


def test_one_persons_data_are_fetched(ada: AtConsole, audit: Audit) -> None:
    ada.page.goto(f"{ada.url}/?study={STUDY}&tab=sessions&session=1")
    ada.quiet()
    ada.page.get_by_role("button", name="Export this person's data").press("Enter")
    link = ada.at("session-id").locator("a[download]")
    link.wait_for(timeout=LONG_MS)
    audit(ada.page)
    with ada.page.expect_download() as fetched:
        link.click()
    assert fetched.value.suggested_filename == f"person-{STUDY}-1.zip"


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
