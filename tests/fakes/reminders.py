"""A study of two weeks with reminders, and somebody who has finished the first."""

from __future__ import annotations

from typing import Any

from app.studies.translations import resolve_translations
from experiments.session.waves import WaveHistory, WaveVisit
from experiments.study.study import Study

# A Thursday, noon in UTC.
FIRST_US = 1_772_712_000_000_000
HOUR_US = 3_600_000_000
FILE: dict[str, Any] = {
    "study": "weeks",
    "title": "Living with an assistant",
    "contact": "lab@example.org",
    "languages": ["en", "de", "ar"],
    "waves": [
        {"wave": "Week 1", "flow": [{"step": "info", "text": "Hello."}, {"step": "finish", "code": "ONE"}]},
        {
            "wave": "Week 2",
            "opens": {"after": "7 days", "at": "09:00"},
            "open_for": "3 days",
            "flow": [{"step": "info", "text": "Again."}, {"step": "finish", "code": "TWO"}],
        },
    ],
    "reminders": {"channels": ["mail", "prolific", "webhook"], "send": [{"when": "opening"}]},
}


def study(**keys: Any) -> Study:
    return resolve_translations(FILE | keys, {}, {})


def history(*more: WaveVisit, zone: str = "UTC", begun_us: int = FIRST_US) -> WaveHistory:
    return WaveHistory((WaveVisit("week-1", begun_us, begun_us + HOUR_US, "complete"), *more), zone)
