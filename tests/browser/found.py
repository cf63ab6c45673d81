"""Which browser is driven: the machine's own Chromium or Chrome."""

from __future__ import annotations

import shutil
from pathlib import Path

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC_BROWSER = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")


def chromium() -> str | None:
    """Its path, or None where there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    return str(MAC_BROWSER) if found is None and MAC_BROWSER.is_file() else found
