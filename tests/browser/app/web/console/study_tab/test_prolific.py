"""On a phone all that would be sent to Prolific is in view before a draft is saved; no note hides a button."""

from __future__ import annotations

import pytest

from tests.browser.filled import DRAFT, RECRUITED
from tests.browser.researcher import AtConsole
from tests.browser.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]
FREE = """((note, button) => note && button.bottom <= note.top)(
  document.querySelector("#note .note")?.getBoundingClientRect(),
  document.querySelector("#delete-yes").getBoundingClientRect())"""
FITS = "((view) => view.scrollWidth === view.clientWidth)(document.querySelector('#prolific-view .wide'))"


def test_on_a_phone_nothing_of_the_comparison_is_out_of_view(ada: AtConsole) -> None:
    ada.page.goto(f"{ada.url}/?study={RECRUITED}&tab=studies")
    ada.quiet()
    ada.open("Recruit")
    ada.press("prolific-show")
    ada.reads("prolific-view", "31.00 GBP")
    ada.page.set_viewport_size({"width": 390, "height": 844})
    until(ada.page, FITS)


def test_a_note_does_not_lie_over_the_button_that_it_answers(ada: AtConsole) -> None:
    ada.page.goto(f"{ada.url}/?study={DRAFT}&tab=studies")
    ada.quiet()
    ada.page.get_by_role("button", name="Delete…").click()
    ada.press("delete-yes")
    until(ada.page, FREE)
