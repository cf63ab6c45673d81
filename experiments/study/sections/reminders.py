"""Reminders of a study with waves: their times, channels, number and texts."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field

from experiments.study.base_model import StrictModel
from experiments.study.sections.waves import Hour, later_us, local_time, span_of, us_of

Channel = Literal["mail", "prolific", "webhook"]
# The names that a subject and a text can refer to.
PLACEHOLDERS = ("study", "wave", "closes", "link")
OPENING, AFTER, BEFORE = "opening", "after opening", "before closing"


def _when(text: str) -> str:
    flowing = " ".join(text.lower().split())
    span, _, side = flowing.partition(" " + (AFTER if flowing.endswith(AFTER) else BEFORE))
    if flowing != OPENING:
        if side or span == flowing:
            raise ValueError("must be `opening`, or such as `2 days after opening` or `6 hours before closing`")
        span_of(span)
    return flowing


When = Annotated[str, AfterValidator(_when)]


class QuietHours(StrictModel):
    """Hours of a participant's own time zone in which nothing is sent."""

    start: Hour = "21:00"
    """The beginning, such as `"21:00"`."""
    end: Hour = "08:00"
    """The end, on the next day if this is earlier than the beginning."""

    def after(self, now_us: int, zone: ZoneInfo) -> int:
        """The time itself, or the end of the quiet hours that it is in."""
        now, start, end = local_time(now_us, zone), *map(time.fromisoformat, (self.start, self.end))
        clock = now.time()
        if not (start <= clock < end if start <= end else clock >= start or clock < end):
            return now_us
        later = timedelta(days=clock >= end)
        return us_of(now.replace(hour=end.hour, minute=end.minute, second=0, microsecond=0) + later)


class Reminder(StrictModel):
    """A reminder of each wave but the first. Subject and text can contain `{{study}}` (its title), `{{wave}}` (its
    heading), `{{closes}}` (in the participant's own time) and `{{link}}`."""

    when: When = OPENING
    """The time of sending: `opening`, or such as `2 days after opening` or `6 hours before closing`."""
    subject: str = "{{study}}: {{wave}}"
    """The subject, in one line."""
    text: str = "The next part of the study is open for you: {{wave}}.\n\nThank you for taking part."
    """The text, without markup; a blank line begins a paragraph. The link, and until when the wave is open, are added
    where the text does not have them."""

    def due_us(self, opens_us: int, closes_us: int | None, zone: ZoneInfo) -> int | None:
        """Return the time of sending; None before the closing of a wave that stays open."""
        if self.when == OPENING:
            return opens_us
        if self.when.endswith(AFTER):
            return later_us(opens_us, self.when.removesuffix(AFTER), zone)
        days, seconds = span_of(self.when.removesuffix(BEFORE))
        if closes_us is None:
            return None
        return us_of(local_time(closes_us, zone) - timedelta(days=days)) - seconds * 1_000_000


class Reminders(StrictModel):
    """Reminders to participants who have not finished the wave that is open to them."""

    channels: tuple[Channel, ...]
    """The channels: `mail`, to participants who give an address for it on a page between the waves; `prolific`, as a
    message to Prolific's participants; `webhook`, to a server of yours. Each reminder takes the first one by which the
    participant can be reached."""
    send: tuple[Reminder, ...]
    """The reminders. If several are due, as after a pause of the server, only the last is sent."""
    at_most: Annotated[int, Field(ge=1)] = 3
    """The most that one participant gets in one wave, also if they are invited to it again."""
    quiet_hours: QuietHours = QuietHours()
    """The hours in which nothing is sent. For none, give both the same hour."""
