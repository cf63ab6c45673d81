"""The page between two waves: in the person's own time and language, with a calendar file and a way back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app.clock import VirtualClock
from storage.registers.persons import people
from tests.browser.axe import Audit
from tests.browser.waiting import until
from tests.fakes import studies, waves
from tests.fakes.aside import aside
from tests.fakes.served import serving, settings_for

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
NewContext = Callable[..., BrowserContext]
GERMAN = {"Week 2": "Woche 2", "Weeks": "Wochen", "Four parts.": "Vier Teile."}
SHOWN = """() => [...document.querySelectorAll("time")].map((time) => [time.dateTime, time.textContent,
  new Intl.DateTimeFormat("de", { dateStyle: "full", timeStyle: "short", timeZone: "Asia/Tokyo" })
    .format(new Date(time.dateTime))])"""


def take(page: Page) -> None:
    """Go through the first wave, to its last page."""
    page.get_by_role("checkbox").check()
    for _ in range(2):
        path = page.locator("#heading").inner_text()
        page.locator(".panel [type=submit]").click()
        expect(page.locator("#heading")).not_to_have_text(path)
    expect(page.locator("#completion-code")).to_have_text("W1")


@pytest.mark.nightly
def test_the_next_part_opens_by_itself_in_the_persons_own_time_and_on_another_device(
    tmp_path: Path, new_context: NewContext, audit: Audit
) -> None:
    raw = waves.raw(languages=["en", "de"], translations={"de": GERMAN})
    raw["waves"][0] = {**waves.WAVES[0], "flow": [{**step, "title": step["step"]} for step in waves.WAVES[0]["flow"]]}
    clock = VirtualClock(waves.us("2027-03-21 20:00", "Asia/Tokyo"))
    opens_us = waves.us("2027-03-28 09:00", "Asia/Tokyo")
    with aside(serving(settings_for(tmp_path), studies.write(tmp_path, raw), clock=clock)) as served:
        page = new_context(own=True, timezone_id="Asia/Tokyo", locale="de").new_page()
        page.goto(f"{served.url}/s/weeks")
        page.get_by_role("button").click()
        take(page)
        until(page, f"({SHOWN})().length === 1 && ({SHOWN})().every(([, told, wanted]) => told === wanted)")
        assert page.evaluate(SHOWN)[0][0] == "2027-03-28T09:00:00+09:00"
        page.locator(".card a.button").click()
        expect(page.locator("body")).to_have_attribute("data-page", "next_part")
        until(page, f"({SHOWN})().length === 2 && ({SHOWN})().every(([, told, wanted]) => told === wanted)")
        shown = page.evaluate(SHOWN)
        assert [one for one, _, _ in shown] == ["2027-03-28T09:00:00+09:00", "2027-03-30T09:00:00+09:00"]
        expect(page.locator("main")).to_contain_text("Woche 2")
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 844})
            until(page, "width => document.documentElement.scrollWidth === width", width)

        audit(page)
        link = page.locator(".link a").get_attribute("href")
        with page.expect_download() as download:
            page.locator("a.second").click()
        assert b"DTSTART:20270328T000000Z\r\n" in Path(download.value.path()).read_bytes()
        clock.set(opens_us - 500_000)
        page.reload()
        page.context.set_offline(True)
        with page.expect_event("requestfailed"):
            clock.set(opens_us)
        expect(page.locator("body")).to_have_attribute("data-page", "next_part")
        page.context.set_offline(False)
        expect(page.locator("body")).to_have_attribute("data-page", "start")

        other = new_context(own=True, timezone_id="Europe/Berlin", locale="de").new_page()
        other.goto(str(link).replace(served.settings.address, served.url))
        other.get_by_role("button").first.click()
        expect(other.locator(".panel")).to_be_visible()
        page.get_by_role("button").first.click()
        expect(page.locator(".panel")).to_be_visible()
        (person,) = people(served.database, "weeks", "person")
        assert ([*person.streams], person.history.zone) == (["week-1", "week-2"], "Europe/Berlin")
