"""Waiting for something to become true of a page."""

from __future__ import annotations

import time
from typing import Any

from playwright.sync_api import Error, Page

MOST_S = 30.0
LOOK_MS = 20


def until(page: Page, expression: str, arg: Any = None, most_s: float = MOST_S) -> None:
    """Look again and again until an expression is true.

    Playwright's own `wait_for_function` compiles the expression in the page, which our policy refuses, as it should.
    """
    over = time.monotonic() + most_s
    while not _is(page, expression, arg):
        if time.monotonic() > over:
            raise AssertionError(f"not within {most_s} s: {expression}")
        page.wait_for_timeout(LOOK_MS)


def _is(page: Page, expression: str, arg: Any) -> bool:
    try:
        return bool(page.evaluate(expression, arg))
    except Error as error:
        if "navigation" not in str(error):  # what was asked is gone: ask the next page
            raise
        return False
