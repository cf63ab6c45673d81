"""The place in the console: a reload opens the same tab of a study again, and Back the tab before."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.filled import STUDY
from tests.browser.researcher import AtConsole

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.nightly]


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
