"""Which browsers are driven: the machine's own Chromium or Chrome, and its Firefox."""

from __future__ import annotations

import shutil

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """Its path, or None where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def firefox() -> str | None:
    """Its path, or None where there is none."""
    return shutil.which("firefox-esr") or shutil.which("firefox")
