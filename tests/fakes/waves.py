"""A study of four waves: after days at an hour, after hours, and on a date; each way to go on after a missed one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from experiments.study.resolve import resolve
from experiments.study.study import Study

INFO = {"step": "info", "text": "You are {{help}}."}
WAVES: tuple[Mapping[str, Any], ...] = (
    {"wave": "Week 1", "flow": [{"step": "consent", "text": "Four parts."}, INFO, {"step": "finish", "code": "W1"}]},
    {"wave": "Week 2", "opens": {"after": "7 days", "at": "09:00"}, "open_for": "2 days", "grace": "12 hours"}
    | {"missed": "invite_again", "factors": {"mood": ["low", "high"]}}
    | {"flow": [{"step": "info", "text": "{{help}}, {{mood}}"}, {"step": "finish", "code": "W2"}]},
    {"wave": "Evening", "opens": {"after": "10 hours", "of": "week-2"}, "open_for": "6 hours", "missed": "go_on"}
    | {"flow": [INFO, {"step": "finish", "code": "W3"}]},
    {"wave": "Last", "opens": {"on": "2027-04-20", "at": "08:30"}, "open_for": "1 week", "missed": "drop"}
    | {"flow": [INFO, {"step": "finish", "code": "W4"}]},
)


def raw(**keys: Any) -> dict[str, Any]:
    return {"study": "weeks", "title": "Weeks", "factors": {"help": ["alone", "assistant"]}, "waves": [*WAVES]} | keys


def study(**keys: Any) -> Study:
    return resolve(raw(**keys), {}, {})


def us(local: str, zone: str = "Europe/Berlin") -> int:
    """The time of a local time, such as `2027-03-28 09:00`."""
    return round(datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1e6)
