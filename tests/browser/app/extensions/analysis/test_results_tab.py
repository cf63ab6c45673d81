"""The tab of results, the report, and the page that waits for it, by axe-core."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader
from playwright.sync_api import BrowserContext

from app.extensions.analysis import __file__ as EXTENSION
from app.extensions.analysis.report import html
from tests.browser.axe import Audit
from tests.browser.filled import STUDY
from tests.browser.researcher import AtConsole
from tests.browser.test_accessibility_console import enter
from tests.fakes.reports import accuracy, by_turn, crossed, report

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]


def test_the_results(ada: AtConsole, audit: Audit) -> None:
    enter(ada, STUDY, "Results", "", "#results-plot-0 .marks")
    assert ada.page.locator(".results-figure").first.evaluate("it => getComputedStyle(it).display") == "grid"
    audit(ada.page)


def test_the_report_and_the_page_that_waits_for_it(new_context: Callable[..., BrowserContext], audit: Audit) -> None:
    """Of a made-up study: computing a whole one takes long."""
    templates = Environment(loader=FileSystemLoader(Path(EXTENSION).parent / "templates"), autoescape=True)
    waiting = templates.get_template("report_waiting.html.j2").render(study=STUDY, origin="bot")
    page = new_context(reduced_motion="reduce").new_page()
    for made in (waiting, html(report(accuracy(), by_turn(), crossed()))):
        page.set_content(made)
        audit(page)
