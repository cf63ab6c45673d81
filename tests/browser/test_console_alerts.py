"""The alerts above the console's tabs, in a browser: they come without a reload, and are put away by the keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from storage.db.engine import open_database
from storage.registers.alerts import Alert, AlertKey, change_alerts, open_alerts
from tests.browser.axe import Audit
from tests.browser.filled import STUDY, filled
from tests.browser.researcher import AtConsole
from tests.fakes.accounts import GOOD

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]
AT_US = 1_790_000_000_000_000
REASONS = {"calls": 12, "failed": 9, "reasons": {"circuit_open": 5, "status_503": 4}}
FOUND = {
    AlertKey("models", STUDY, "person", "tutor-a"): REASONS,
    AlertKey("stuck", STUDY, "person"): {"sessions": [3, 4, 6], "longest_s": 2_040},
    AlertKey("disk", subject="/srv/parley"): {"free": 1_200_000_000, "size": 80_000_000_000},
}


@pytest.fixture(scope="module")
def ada(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AtConsole, str]]:
    with filled(tmp_path_factory.mktemp("filled")) as console:
        context = browser.new_context(reduced_motion="reduce")
        made = AtConsole(context.new_page(), console.url)
        made.log_in("Ada", GOOD)
        yield made, console.database_url
        context.close()


def test_alerts_come_and_are_put_away(ada: tuple[AtConsole, str], audit: Audit) -> None:
    at, url = ada
    page = at.page
    at.page.locator("#bench").first.wait_for()  # the page has loaded, which opens the first tab
    at.open("Monitoring")
    at.page.locator("#live-body table").first.wait_for()
    expect(at.at("alerts")).to_be_hidden()
    database = open_database(url)
    new = [
        Alert(key, data, AT_US, AT_US, AT_US, undelivered={"mail": "it answered 550"}) for key, data in FOUND.items()
    ]
    change_alerts(database, lambda _: new)
    expect(page.locator("[data-alert]")).to_have_count(len(FOUND))  # by itself
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        at.look(f"alerts-{width}")
        audit(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Mark as seen").focus()
    page.keyboard.press("Enter")
    expect(at.at("alerts")).to_be_hidden()
    assert {alert.seen_by for alert in open_alerts(database)} == {"ada"}
    database.dispose()
    assert at.complaints == []
