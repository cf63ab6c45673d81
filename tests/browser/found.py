"""Which browsers are driven: the machine's own Chromium or Chrome, and its Firefox."""

from __future__ import annotations

import shutil
from pathlib import Path

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FIREFOX = ("firefox-esr", "firefox")
MAC_BROWSER = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
MAC_FIREFOX = Path("/Applications/Firefox.app/Contents/MacOS/firefox")


def chromium() -> str | None:
    """Its path, or None where there is none."""
    return _first(BROWSERS, MAC_BROWSER)


def firefox() -> str | None:
    """Its path, or None where there is none."""
    return _first(FIREFOX, MAC_FIREFOX)


def _first(names: tuple[str, ...], on_a_mac: Path) -> str | None:
    found = next(filter(None, map(shutil.which, names)), None)
    return str(on_a_mac) if found is None and on_a_mac.is_file() else found
