"""Figures, times and origins as the console writes them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from storage.registers.origins import Origin

NOTHING = "–"
SECOND_US = 1_000_000
WHOSE: Mapping[str, str] = {
    Origin.PERSON: "People",
    Origin.IMPORT: "Imported",
    Origin.BOT: "Simulated",
    Origin.PILOT: "Pilot",
}
"""Whose sessions they are, by their origin."""


def when(at_us: int | None) -> str:
    """A time, UTC: 2026-11-21 14:03."""
    return NOTHING if at_us is None else f"{datetime.fromtimestamp(at_us / SECOND_US, UTC):%Y-%m-%d %H:%M}"


def duration(seconds: float | None) -> str:
    """How long something took, in its two largest units: 4 min 10 s."""
    if seconds is None:
        return NOTHING
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def number(value: float | None, places: int = 0) -> str:
    """A figure with its thousands apart."""
    return NOTHING if value is None else f"{value:,.{places}f}"


def figure(value: float | None) -> str:
    """A number that need not be whole, to four digits."""
    return NOTHING if value is None else f"{value:,.4g}"


def percent(part: float | None, places: int = 0) -> str:
    """A share of 1, as a percentage."""
    return NOTHING if part is None else f"{100 * part:.{places}f} %"
