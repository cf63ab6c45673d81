"""The filters of the tab Sessions, read and validated from what a browser sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from experiments.errors import suggestion
from experiments.session.outcomes import OUTCOMES
from experiments.study.cells import parse_values
from storage.errors import StorageError
from storage.registers.origins import ORIGINS
from storage.reports.sessions import LEFT, LIVE, PASTED, SessionQuery

ANY = ""
STATUSES = (LIVE, LEFT, *OUTCOMES)
FLAGS = ("too_fast", "one_word", PASTED, "straight_lined", "missed_check", "leak", "same_id")
EXCLUDED: Mapping[str, bool | None] = {ANY: None, "yes": True, "no": False}
MOST_CHARS = 100
NAMES = ("text", "origin", "stands", "cell", "flag", "excluded", "language", "since", "until")
"""The filters, in the order in which the page sends them."""


def choices(words: Iterable[str], anything: str) -> list[tuple[str, str]]:
    """The choices of a filter: pairs of a label and a value."""
    return [(anything, ANY), *((word.replace("_", " "), word) for word in words)]


def cell_choices(cells: Iterable[Mapping[str, str]]) -> list[tuple[str, str]]:
    """A choice for each value of each factor that sessions have."""
    pairs = dict.fromkeys(f"{name}={value}" for cell in cells for name, value in sorted(cell.items()))
    return [("any", ANY), *((pair.replace("=", ": ", 1), pair) for pair in sorted(pairs))]


def parse_filters(sent: Mapping[str, Any]) -> SessionQuery:
    """The filters that were sent; raises StorageError for invalid ones."""
    given = {name: str(sent.get(name) or "").strip()[:MOST_CHARS] for name in NAMES}
    return SessionQuery(
        text=given["text"],
        origin=_one_of(given["origin"], ORIGINS),
        stands=_one_of(given["stands"], STATUSES),
        cell=dict(parse_values(filter(None, [given["cell"]]))),
        flag=_one_of(given["flag"], FLAGS),
        excluded=EXCLUDED[_one_of(given["excluded"], ("yes", "no"))],
        since_us=_day_us(given["since"]),
        until_us=_day_us(given["until"], days=1),
        language=given["language"],
    )


def _one_of(word: str, known: Iterable[str]) -> str:
    if word and word not in known:
        raise StorageError(f"{word!r} is not a choice here{suggestion(word, known)}")
    return word


def _day_us(text: str, days: int = 0) -> int | None:
    """The start of a day in UTC, or of the day that many days later."""
    if not text:
        return None
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=days)
    except (ValueError, OverflowError):
        raise StorageError(f"{text!r} is not a date; write it as 2026-11-21") from None
    return round(day.timestamp() * 1e6)
