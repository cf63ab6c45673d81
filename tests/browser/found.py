"""Which browsers are driven: the machine's own Chromium or Chrome, and its Firefox."""

from __future__ import annotations

from pathlib import Path

from app.privacy.screenshots import chromium, first_of

FIREFOX = ("firefox-esr", "firefox")
MAC_FIREFOX = Path("/Applications/Firefox.app/Contents/MacOS/firefox")

__all__ = ["chromium", "firefox"]


def firefox() -> str | None:
    """Its path, or None where there is none."""
    return first_of(FIREFOX, MAC_FIREFOX)
