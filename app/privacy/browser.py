"""Which Chromium is driven: the machine's own Chromium or Chrome."""

from __future__ import annotations

import shutil
from pathlib import Path

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ON_A_MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")


def chromium() -> str | None:
    """Its path, or None if there is none."""
    return first_of(NAMES, ON_A_MAC)


def first_of(names: tuple[str, ...], on_a_mac: Path) -> str | None:
    """The path of the first of these programs, or that of an application on a Mac; None if there is none."""
    found = next(filter(None, map(shutil.which, names)), None)
    return str(on_a_mac) if found is None and on_a_mac.is_file() else found
