"""Which browsers are driven: the machine's own Chromium or Chrome, and its Firefox."""

from __future__ import annotations

import shutil

from app.extensions.publishing.screens import chromium

__all__ = ["chromium", "firefox"]


def firefox() -> str | None:
    """Its path, or None where there is none."""
    return shutil.which("firefox-esr") or shutil.which("firefox")
