"""Periods for which a study keeps something, such as `90 days`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_PERIOD = re.compile(rf"([1-9][0-9]{{0,3}}) ({'|'.join(DAYS)})s?")


def days_of(period: str) -> int:
    """The days of a period; raises ValueError for anything else."""
    found = _PERIOD.fullmatch(" ".join(period.lower().split()))
    if found is None:
        raise ValueError("must be a whole number and a unit: days, weeks, months or years, such as `90 days`")
    return int(found[1]) * DAYS[found[2]]


def _period(text: str) -> str:
    days_of(text)
    return " ".join(text.lower().split())


Period = Annotated[str, AfterValidator(_period)]
"""A whole number of days, weeks, months (30 days) or years (365 days)."""
