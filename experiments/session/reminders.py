"""The next reminder of a person, and its time: a function of the study, the person's waves and events, and the time.

    subscribed {channel}                                      the person gave an address for reminders
    unsubscribed {}                                           and wants none any more, by any channel
    reminded {wave, round, kind, channel, number, attempt}    a reminder, the wave's `number`th, is about to be sent
    reminder_sent {of}                                        it was handed over; `of` is the number of `reminded`
    reminder_failed {of, cause, certain, again}               it was not (`certain`), or nobody knows whether it was;
                                                              `again`: a further attempt may succeed

They stand in the person's first session. `reminded` is written, under a key, before anything is sent: a reminder
without a result may have been sent, and is not sent again (at most once). Only what certainly was not sent is tried
again, after RETRY_AFTER_S.

Of a wave's reminders whose time has come only the last is sent, so a server that was down sends one and not all of
them. After a late one, at least half of the planned time passes until the next.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from experiments.events import REMINDING, Event
from experiments.session.waves import WaveHistory, WaveWindow, next_window, wave_schedule
from experiments.study.sections.reminders import Channel, Reminder
from experiments.study.sections.waves import zone_of
from experiments.study.study import Study

SUBSCRIBED, UNSUBSCRIBED, REMINDED, SENT, FAILED = REMINDING
# The pauses after attempts that certainly sent nothing; there is one attempt more than pauses.
RETRY_AFTER_S = (900, 3_600, 14_400)


@dataclass(frozen=True, slots=True)
class NextReminder:
    """A reminder that is sent at `at_us` if nothing happens before; it is due at the time for which it was made."""

    at_us: int
    window: WaveWindow
    reminder: Reminder
    channel: Channel
    number: int
    attempt: int

    @property
    def data(self) -> dict[str, str | int]:
        wave, kind = self.window.wave, self.reminder.when
        about: dict[str, str | int] = {"wave": wave, "round": self.window.round, "kind": kind, "channel": self.channel}
        return {**about, "number": self.number, "attempt": self.attempt}

    @property
    def key(self) -> str:
        named = (REMINDED, self.window.wave, self.window.round, self.reminder.when, self.channel, self.attempt)
        return sha256("\n".join(map(str, named)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An attempt to send a reminder; `failed` is None where it was sent or may have been."""

    event: Event
    failed: Event | None

    @property
    def retry_us(self) -> int | None:
        """The time for a further attempt at one that certainly failed; None if there may be none."""
        number = int(self.event.data["attempt"])
        if self.failed is None or not self.failed.data["again"] or number > len(RETRY_AFTER_S):
            return None
        return self.failed.at_us + RETRY_AFTER_S[number - 1] * 1_000_000


def next_reminder(
    study: Study, history: WaveHistory, events: Sequence[Event], reachable: Collection[Channel], now_us: int
) -> NextReminder | None:
    """`events` are those of the first session, `reachable` the channels by which a message would arrive."""
    window, reminders = next_window(wave_schedule(study, history, now_us)), study.file.reminders
    if reminders is None or window is None or window.wave == study.waves[0].id or window.opens_us is None:
        return None
    of_wave = [one for one in _attempts(events) if one.event.data["wave"] == window.wave]
    number = sum(one.failed is None for one in of_wave) + 1
    if wants_none(events) or number > reminders.at_most:
        return None
    attempts = [one for one in of_wave if one.event.data["round"] == window.round]
    had = [one.event for one in attempts if one.failed is None]
    planned = _planned(reminders.send, window, history)
    last_us = next((us for us, reminder in planned if had and reminder.when == had[-1].data["kind"]), None)
    for place, (due_us, reminder) in enumerate(planned, 1):
        way = _way(reminders.channels, [one for one in attempts if one.event.data["kind"] == reminder.when], reachable)
        if way is None or (had and (last_us is None or due_us <= last_us)):
            continue
        apart_us = had[-1].at_us + (due_us - last_us) // 2 if had and last_us is not None else 0
        channel, attempt, retry_us = way
        at_us = reminders.quiet_hours.after(max(due_us, now_us, apart_us, retry_us), zone_of(history.zone))
        ends_us = [us for us in (window.closes_us, *(us for us, _ in planned[place : place + 1])) if us is not None]
        if all(at_us < us for us in ends_us):
            return NextReminder(at_us, window, reminder, channel, number, attempt)
    return None


def wants_none(events: Sequence[Event]) -> bool:
    said = [event.kind for event in events if event.kind in (SUBSCRIBED, UNSUBSCRIBED)]
    return said[-1:] == [UNSUBSCRIBED]


def _attempts(events: Sequence[Event]) -> Iterator[_Attempt]:
    failed = {event.data["of"]: event for event in events if event.kind == FAILED and event.data["certain"]}
    return (_Attempt(event, failed.get(event.seq)) for event in events if event.kind == REMINDED)


def _planned(reminders: Sequence[Reminder], window: WaveWindow, history: WaveHistory) -> list[tuple[int, Reminder]]:
    """The reminders of a wave by the time at which they are to be sent; of equal times, in the order of the file."""
    opens_us, zone = window.opens_us or 0, zone_of(history.zone)
    times = [(one.due_us(opens_us, window.closes_us, zone), one) for one in reminders]
    return sorted([(us, one) for us, one in times if us is not None and us >= opens_us], key=lambda one: one[0])


def _way(
    channels: Sequence[Channel], attempts: Sequence[_Attempt], reachable: Collection[Channel]
) -> tuple[Channel, int, int] | None:
    """The first channel that is left for a reminder, the number of the attempt and its earliest time."""
    for channel in channels:
        own = [one for one in attempts if one.event.data["channel"] == channel]
        retry_us = own[-1].retry_us if own else 0
        if channel in reachable and retry_us is not None:
            return channel, len(own) + 1, retry_us
    return None
