"""Hostile texts before a researcher's eyes, in the report."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext

from app.extensions.analysis.intervals import Interval
from app.extensions.analysis.report import html
from app.web.security import CSP
from tests.browser.boxes import WINDOW, spilled
from tests.browser.hostile import Watched, squeezed
from tests.fakes.hostile import LIGHT
from tests.fakes.hostile.overflow import OVERFLOW
from tests.fakes.reports import crossed, figure, finding, report

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]


def test_labels_of_a_report_are_inert_and_stay_in_their_boxes(new_context: Callable[..., BrowserContext]) -> None:
    """Under the policy of the console's pages; names of groups are shown as they were typed."""
    page = new_context(**WINDOW).new_page()
    watched = Watched(page, "http://report.test")
    labels = [*OVERFLOW, *(one for one in LIGHT if one not in OVERFLOW)]
    figures = [figure(f"x.{n}", one.text, Interval(0.3, 0.2, 0.4), model=one.text) for n, one in enumerate(labels)]
    told = html(report(finding("arena.win_rate", figures), crossed([one.text for one in OVERFLOW])))
    policy = {"content-security-policy": CSP.format(nonce="none", more="", framed_by="'none'")}
    page.route("http://report.test/", lambda route: route.fulfill(body=told, content_type="text/html", headers=policy))
    page.goto("http://report.test/")
    text = squeezed(page.locator("body").text_content() or "")
    assert [one.name for one in LIGHT if squeezed(one.text) not in text] == []
    assert spilled(page, "h1, h2, h3, h4, p, ul", "th, td:not(.plot, .cell)") == {}
    assert watched.harms("td", "th") == []
