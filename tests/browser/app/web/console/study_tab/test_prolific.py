"""Recruit in a browser: compared with Prolific, published for the sum that is shown, and paused."""

from __future__ import annotations

import pytest

from tests.browser.filled import RECRUITED
from tests.browser.researcher import AtConsole
from tests.browser.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]


def test_a_study_is_compared_published_for_the_sum_that_is_shown_and_paused(ada: AtConsole) -> None:
    ada.page.goto(f"{ada.url}/?study={RECRUITED}&tab=studies")
    ada.quiet()
    ada.open("Recruit")
    ada.press("prolific-show")
    ada.reads("prolific-view", "31.00 GBP")
    ada.page.set_viewport_size({"width": 390, "height": 844})
    until(ada.page, "((view) => view.scrollWidth === view.clientWidth)(document.querySelector('#prolific-view .wide'))")
    ada.press("prolific-draft")
    ada.reads("prolific-view", "unpublished")
    ada.write("prolific-sum", "30")
    ada.press("prolific-publish")
    ada.reads("note", "31.00")
    ada.write("prolific-sum", "31.00")
    ada.press("prolific-publish")
    ada.reads("prolific-view", "0 of 20 places")
    ada.press("prolific-pause")
    ada.reads("prolific-view", "paused")
