"""Runs in a browser: each is shown with its cost, started once, seen after a reload, and found in the right place."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.axe import Audit
from tests.browser.researcher import LONG_MS, AtConsole

# So long after a field was left Gradio may still tell of it.
LATE_MS = 1000
pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(1800), pytest.mark.nightly]


def run(ada: AtConsole) -> None:
    """See what it takes by the keyboard, start it by a double click, and load the page again while it is under way."""
    ada.quiet()
    ada.page.locator("button#runs-show").focus()
    ada.page.keyboard.press("Enter")
    expect(ada.at("runs-takes").locator("section")).to_be_visible(timeout=LONG_MS)
    ada.page.locator("button#runs-start").dblclick()
    expect(ada.at("runs-work").locator("section").first).to_be_visible(timeout=LONG_MS)
    ada.page.reload()
    ada.quiet()
    expect(ada.at("runs-work").locator("[data-running]")).to_have_count(0, timeout=LONG_MS)


def chosen(ada: AtConsole, label: str) -> None:
    ada.page.get_by_role("radio", name=label).check()
    ada.quiet()


def test_the_form_keeps_what_it_takes_and_hides_its_plumbing(ada: AtConsole) -> None:
    ada.open("Runs")
    ada.quiet()
    plumbing = [ada.page.locator(f"#{name}") for name in ("runs-token", "release-sent")]
    ada.page.locator("#simulate-count input").press_sequentially("3")
    ada.press("runs-show")
    expect(ada.at("runs-takes").locator("section")).to_be_visible(timeout=LONG_MS)
    ada.quiet()
    ada.page.wait_for_timeout(LATE_MS)
    expect(ada.at("runs-start")).to_be_visible()
    ada.write("simulate-count", "4")
    expect(ada.at("runs-start")).to_be_hidden()
    for room in ("Export", "Runs"):
        ada.open(room)
        ada.quiet()
    for part in plumbing:
        expect(part).to_be_hidden()
    chosen(ada, "Ask models alone")
    for name in ("alone-most", "alone-budget"):
        expect(ada.at(name).locator("input, textarea").first).to_have_value("")


def test_annotations_a_rehearsal_an_import_and_the_installation(ada: AtConsole, audit: Audit, shared: Path) -> None:
    ada.open("Runs")
    ada.quiet()
    chosen(ada, "Ask models alone")
    ada.press("runs-show")  # by the ways that need no examples, of which the study has none
    expect(ada.at("runs-takes").locator("table").first).to_be_visible(timeout=LONG_MS)
    chosen(ada, "Annotate conversations")
    ada.choose("annotate-names", "user_effort")
    ada.quiet()
    ada.choose("annotate-model", "careful")
    run(ada)
    done = ada.at("runs-work").locator("section", has_text="Annotate conversations")
    expect(done.locator("[data-ended]")).to_be_visible(timeout=LONG_MS)

    chosen(ada, "Rehearse the day")
    ada.write("rehearse-people", "1")
    ada.write("rehearse-over", "0")
    run(ada)  # no participants' server runs: what went wrong stays on the page
    failed = ada.at("runs-work").locator("section", has_text="Rehearse the day")
    expect(failed.get_by_role("alert")).to_be_visible(timeout=LONG_MS)
    expect(done).to_be_visible()

    chosen(ada, "Import released data")
    ada.page.locator("#release-input").set_input_files(shared / "dices_990_rows.csv")
    expect(ada.at("release-remove")).to_be_visible()
    ada.press("release-remove")
    expect(ada.at("import-files").locator("li")).to_have_count(0)
    expect(ada.at("release-remove")).to_be_hidden()
    ada.page.locator("#release-input").set_input_files(shared / "dices_350_rows.csv")
    ada.reads("import-files", "dices_350_rows.csv")
    ada.choose("import-schema", "dices-350")
    run(ada)
    expect(
        ada.at("runs-work").locator("section", has_text="Import released data").locator("[data-ended]")
    ).to_be_visible()
    audit(ada.page)

    ada.open("Model servers")
    ada.quiet()
    ada.press("doctor-check")
    ada.reads("doctor-found", "database")
