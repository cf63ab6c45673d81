"""The console's formats of numbers, times, statuses and origins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from experiments.study.texts import fill
from storage.registers.origins import Origin

NOTHING = "–"
SECOND_US = 1_000_000
WHOSE: Mapping[str, str] = {
    Origin.PERSON: "Participants",
    Origin.IMPORT: "Imported",
    Origin.BOT: "Simulated",
    Origin.PILOT: "Pilot",
    Origin.REHEARSAL: "Rehearsal",
}


def origin(name: str) -> str:
    """The label of an origin within a sentence or a tag."""
    return WHOSE.get(name, name).lower().removesuffix("s")


def format_time(at_us: int | None) -> str:
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
    return NOTHING if value is None else f"{value:,.{places}f}"


def format_number(value: float | None) -> str:
    """A number with at most four significant digits."""
    return NOTHING if value is None else f"{value:,.4g}"


def step_label(path: str, title: str = "") -> tuple[str, str]:
    """A title or name, with phases and loops around (`Phase 1, Question 2`); "…" stands for what is filled in."""
    if not path:
        return NOTHING, ""
    *around, name = [_words(part) for part in path.split("/")]
    title = fill(title, lambda _: "…")
    return (title if title.strip("… ") else name), ", ".join(around)


def _words(part: str) -> str:
    """A part of a path in words: `with_ai` is With AI, `question[1]` the second turn, Question 2."""
    name, _, turn = part.removesuffix("]").partition("[")
    words = " ".join("AI" if word.lower() == "ai" else word for word in re.split(r"[-_ ]+", name))
    return words[:1].upper() + words[1:] + (f" {int(turn) + 1}" if turn.isdecimal() else "")


def percent(part: float | None, places: int = 0) -> str:
    return NOTHING if part is None else f"{100 * part:.{places}f} %"
