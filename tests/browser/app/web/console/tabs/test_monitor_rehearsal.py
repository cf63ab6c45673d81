"""A rehearsal in the console: shown where its origin is chosen, below a banner, and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from threading import Thread

import pytest
from playwright.sync_api import Browser, expect

from storage.db.engine import open_database
from tests.browser.axe import Audit
from tests.browser.filled import STUDY, filled
from tests.browser.researcher import LONG_MS, AtConsole
from tests.fakes.accounts import GOOD
from tests.fakes.databases import busy

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]
REHEARSED = 5
BANNER = "[data-rehearsal]"


@pytest.fixture(scope="module")
def ada(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtConsole]:
    with filled(tmp_path_factory.mktemp("rehearsed")) as console:
        filling = Thread(target=rehearse, args=(console.database_url,))
        filling.start()  # Playwright's loop runs in this one
        filling.join()
        context = browser.new_context(reduced_motion="reduce")
        made = AtConsole(context.new_page(), console.url)
        made.log_in("Ada", GOOD)
        made.choose("study", STUDY)
        yield made
        context.close()


def rehearse(url: str) -> None:
    database = open_database(url)
    asyncio.run(busy(database, STUDY, "rehearsal"))
    database.dispose()


def enter(ada: AtConsole, room: str) -> None:
    """Open a tab; on a narrow screen, as an audit leaves it, the last tabs are in a menu."""
    ada.page.set_viewport_size({"width": 1280, "height": 800})
    ada.open(room)


def test_monitoring(ada: AtConsole, audit: Audit) -> None:
    enter(ada, "Monitoring")
    ada.at("live-head").locator("[data-count=started]").wait_for()
    expect(ada.at("live-head").locator(BANNER)).to_have_count(0)
    ada.page.get_by_role("radiogroup", name="Session origin").get_by_role("radio", name="Rehearsal").check()
    ada.at("live-head").locator(BANNER).wait_for()
    expect(ada.at("live-head").locator("[data-count=started] b")).to_have_text(f"{REHEARSED}", timeout=LONG_MS)
    audit(ada.page)


def test_sessions(ada: AtConsole, audit: Audit) -> None:
    enter(ada, "Sessions")
    ada.at("sessions-list").wait_for()
    expect(ada.at("sessions-list").locator(BANNER)).to_have_count(0)
    ada.choose("sessions-origin", "rehearsal")
    ada.at("sessions-list").locator(BANNER).wait_for()
    expect(ada.at("sessions-list").locator("tbody tr")).to_have_count(REHEARSED, timeout=LONG_MS)
    ada.at("sessions-list").locator("tbody a").first.click()
    ada.at("session-head").locator(BANNER).wait_for()
    audit(ada.page)


def test_export(ada: AtConsole, audit: Audit) -> None:
    enter(ada, "Export")
    ada.page.locator("#data-preview table").wait_for()
    expect(ada.at("data-outlook").locator(BANNER)).to_have_count(0)
    ada.choose("data-origin", "Rehearsal")
    ada.at("data-outlook").locator(BANNER).wait_for()
    audit(ada.page)


def test_results(ada: AtConsole, audit: Audit) -> None:
    enter(ada, "Results")
    ada.page.get_by_role("radiogroup", name="Session origin").get_by_role("radio", name="Rehearsal").check()
    ada.at("results-said").get_by_role("note").wait_for()
    audit(ada.page)
