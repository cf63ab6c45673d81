"""The filters of the tab Sessions, read and validated from what a browser sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from app.web.console.formatting import origin
from experiments.errors import suggestion
from experiments.session.outcomes import OUTCOMES, status_label
from experiments.study.cells import parse_values
from storage.errors import StorageError
from storage.log.seats import LEFT, LIVE
from storage.registers.origins import ORIGINS, Origin
from storage.reports.sessions import PASTED, SessionQuery

ANY = ""
PEOPLE = "people"
# The origins of people's data, which are listed unless another choice is made.
OF_PEOPLE = (Origin.PERSON, Origin.IMPORT, Origin.PILOT)
# What the filters are set to that are not empty at first.
DEFAULTS: Mapping[str, str] = {"origin": PEOPLE}
STATUSES = (LIVE, LEFT, *OUTCOMES)
FLAGS = (
    "too_fast",
    "one_word",
    PASTED,
    "straight_lined",
    "missed_check",
    "leak",
    "unattended",
    "waits_for_help",
    "helped",
    "time_given",
    "ended_by_researcher",
    "late",
    "same_id",
    "unreadable_id",
)
EXCLUDED: Mapping[str, bool | None] = {ANY: None, "yes": True, "no": False}
MOST_CHARS = 100
LABELS: Mapping[str, str] = {
    "text": "Number or ID",
    "origin": "Origin",
    "stands": "Status",
    "cell": "Condition",
    "flag": "Flag",
    "excluded": "Excluded",
    "language": "Language",
    "since": "Started from (UTC)",
    "until": "Started until (UTC)",
}
# The filters, in the order in which the page sends them.
NAMES = tuple(LABELS)
ORIGIN_CHOICES = [
    ("people, with pilots", PEOPLE),
    ("any", ANY),
    *((origin(one), str(one)) for one in ORIGINS),
]
STATUS_CHOICES = [("any", ANY), *((status_label(one), one) for one in STATUSES)]


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters that were sent: the query, each filter in use as a label and its value, and incomplete dates."""

    query: SessionQuery
    applied: tuple[tuple[str, str], ...]
    no_dates: tuple[str, ...]


def choices(words: Iterable[str], anything: str) -> list[tuple[str, str]]:
    return [(anything, ANY), *((word.replace("_", " "), word) for word in words)]


def cell_choices(cells: Iterable[Mapping[str, str]]) -> list[tuple[str, str]]:
    pairs = dict.fromkeys(f"{name}={value}" for cell in cells for name, value in sorted(cell.items()))
    return [("any", ANY), *((pair.replace("=", ": ", 1), pair) for pair in sorted(pairs))]


def parse_filters(sent: Mapping[str, Any]) -> Filters:
    """The filters that were sent; raises StorageError for choices that are not offered. A date that is not complete
    does not filter: these texts are read while they are typed."""
    given = {name: str(sent.get(name) or "").strip()[:MOST_CHARS] for name in NAMES}
    since_us, until_us = _day_us(given["since"]), _day_us(given["until"], days=1)
    no_dates = [given[name] for name, us in (("since", since_us), ("until", until_us)) if given[name] and us is None]
    query = SessionQuery(
        text=given["text"],
        origins=_origins(given["origin"]),
        stands=_one_of(given["stands"], STATUSES),
        cell=dict(parse_values(filter(None, [given["cell"]]))),
        flag=_one_of(given["flag"], FLAGS),
        excluded=EXCLUDED[_one_of(given["excluded"], ("yes", "no"))],
        since_us=since_us,
        until_us=until_us,
        language=given["language"],
    )
    applied = [(LABELS[name], _shown(name, text)) for name, text in given.items() if text and text not in no_dates]
    return Filters(query, tuple(applied), tuple(no_dates))


def _shown(name: str, value: str) -> str:
    labels = {"origin": ORIGIN_CHOICES, "stands": STATUS_CHOICES}.get(name, [])
    return next((label for label, choice in labels if choice == value), value.replace("_", " ").replace("=", ": ", 1))


def _origins(word: str) -> tuple[str, ...]:
    if word == PEOPLE:
        return OF_PEOPLE
    return (word,) if _one_of(word, ORIGINS) else ()


def _one_of(word: str, allowed: Iterable[str]) -> str:
    if word and word not in allowed:
        raise StorageError(f"{word!r} is not a choice here{suggestion(word, allowed)}")
    return word


def _day_us(text: str, days: int = 0) -> int | None:
    """The start of a day in UTC, or of the day that many days later; None for an invalid date."""
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=days)
    except (ValueError, OverflowError):
        return None
    return round(day.timestamp() * 1e6)
