"""Recruit on a phone: all that would be sent to Prolific is in view before a draft is saved."""

from __future__ import annotations

import pytest

from tests.browser.filled import RECRUITED
from tests.browser.researcher import AtConsole
from tests.browser.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]
FITS = "((view) => view.scrollWidth === view.clientWidth)(document.querySelector('#prolific-view .wide'))"


def test_on_a_phone_nothing_of_the_comparison_is_out_of_view(ada: AtConsole) -> None:
    ada.page.goto(f"{ada.url}/?study={RECRUITED}&tab=studies")
    ada.quiet()
    ada.open("Recruit")
    ada.press("prolific-show")
    ada.reads("prolific-view", "31.00 GBP")
    ada.page.set_viewport_size({"width": 390, "height": 844})
    until(ada.page, FITS)
