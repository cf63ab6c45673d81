"""How the console formats numbers, times, statuses and origins."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from storage.registers.origins import Origin

NOTHING = "–"
SECOND_US = 1_000_000
WHOSE: Mapping[str, str] = {
    Origin.PERSON: "Participants",
    Origin.IMPORT: "Imported",
    Origin.BOT: "Simulated",
    Origin.PILOT: "Pilot",
}
"""Labels of the session origins."""


def origin(name: str) -> str:
    """The label of an origin within a sentence or a tag."""
    return WHOSE.get(name, name).lower().removesuffix("s")


def format_time(at_us: int | None) -> str:
    """A time, UTC: 2026-11-21 14:03."""
    return NOTHING if at_us is None else f"{datetime.fromtimestamp(at_us / SECOND_US, UTC):%Y-%m-%d %H:%M}"


def duration(seconds: float | None) -> str:
    """A duration in its two largest units: 4 min 10 s."""
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
    """A number with thousands separators."""
    return NOTHING if value is None else f"{value:,.{places}f}"


def format_number(value: float | None) -> str:
    """A number with at most four significant digits."""
    return NOTHING if value is None else f"{value:,.4g}"


def percent(part: float | None, places: int = 0) -> str:
    """A share of 1 as a percentage."""
    return NOTHING if part is None else f"{100 * part:.{places}f} %"
