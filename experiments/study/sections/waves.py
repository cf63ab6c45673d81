"""Times at which a wave of a study opens and closes.

Days and weeks are those of the participant's calendar, so they keep the hour when daylight saving begins or ends; hours
and minutes are exact (RFC 5545, 3.3.6). A local time that such a change leaves out is read with the offset before it,
and of one that comes twice the first counts (3.3.5).
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator

from experiments.study.base_model import Slug, StrictModel

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# Calendar days and exact seconds of each unit.
UNITS = {"minute": (0, 60), "hour": (0, 3600), "day": (1, 0), "week": (7, 0)}
_SPAN = re.compile(rf"([1-9][0-9]{{0,3}}) ({'|'.join(UNITS)})s?")
_HOUR = re.compile("([01][0-9]|2[0-3]):[0-5][0-9]")


def span_of(span: str) -> tuple[int, int]:
    """The calendar days and exact seconds of a span; raises ValueError for anything else."""
    found = _SPAN.fullmatch(" ".join(span.lower().split()))
    if found is None:
        raise ValueError("must be a whole number and a unit: minutes, hours, days or weeks, such as `7 days`")
    days, seconds = UNITS[found[2]]
    return int(found[1]) * days, int(found[1]) * seconds


def _span(text: str) -> str:
    span_of(text)
    return " ".join(text.lower().split())


def _hour(text: str) -> str:
    if _HOUR.fullmatch(text) is None:
        raise ValueError("must be an hour from 00:00 to 23:59, such as 09:00")
    return text


# A whole number of minutes, hours, days or weeks.
Span = Annotated[str, AfterValidator(_span)]
# An hour of the day, such as 09:00.
Hour = Annotated[str, AfterValidator(_hour)]
Missed = Literal["go_on", "drop", "invite_again"]


class Opening(StrictModel):
    """The opening of a wave: some time after an earlier wave, or on a date. An hour is that of the participant's own
    time zone."""

    after: Span | None = None
    """The time since an earlier wave, such as `7 days` or `20 hours`."""
    since: Literal["end", "start"] = "end"
    """The point from which `after` counts: the end or the start of that wave."""
    of: Slug | None = None
    """The id of the earlier wave. The wave before by default."""
    on: date | None = None
    """The date on which the wave opens for everybody, such as 2027-03-01; at midnight without `at`."""
    at: Hour | None = None
    """The hour at which it opens on that day, such as `09:00`."""


def zone_of(name: str) -> ZoneInfo:
    """The time zone of an IANA name; UTC without one."""
    return ZoneInfo(name or "UTC")


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def is_zone(name: str) -> bool:
    return name in _zones()


def local_time(at_us: int, zone: ZoneInfo) -> datetime:
    return (EPOCH + at_us * MICROSECOND).astimezone(zone)


def us_of(local: datetime) -> int:
    return (local - EPOCH) // MICROSECOND


def later_us(at_us: int, span: str | None, zone: ZoneInfo) -> int:
    """The time a span later; the time itself without one."""
    days, seconds = span_of(span) if span else (0, 0)
    start_us = us_of(local_time(at_us, zone) + timedelta(days=days)) if days else at_us
    return start_us + seconds * 1_000_000


def hour_us(day: date, hour: str | None, zone: ZoneInfo) -> int:
    return us_of(datetime.combine(day, time.fromisoformat(hour or "00:00"), zone))


def next_hour_us(at_us: int, hour: str | None, zone: ZoneInfo) -> int:
    """The next time at which it is an hour of the day; the time itself without one."""
    day = local_time(at_us, zone).date()
    days = (hour_us(day + timedelta(days=number), hour, zone) for number in (0, 1))
    return next(found for found in days if found >= at_us) if hour else at_us


def opening_us(opening: Opening, since_us: int, zone: ZoneInfo) -> int:
    """`since_us` is when the time in `after` began to count."""
    if opening.on is not None:
        return hour_us(opening.on, opening.at, zone)
    at_us = later_us(since_us, opening.after, zone)
    return hour_us(local_time(at_us, zone).date(), opening.at, zone) if opening.at else at_us
