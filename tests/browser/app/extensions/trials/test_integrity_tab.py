"""The tab of evidence on how texts came about, by axe-core."""

from __future__ import annotations

import pytest

from tests.browser.axe import Audit
from tests.browser.filled import STUDY
from tests.browser.researcher import AtConsole
from tests.browser.test_accessibility_console import enter


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_integrity_tab(ada: AtConsole, audit: Audit) -> None:
    enter(ada, STUDY, "Integrity", "", "#integrity-rates table")
    audit(ada.page)
