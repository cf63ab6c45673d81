"""Which reminder is due when: over time zones, both changes of daylight saving, stops of the server, and failures."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.events import Event
from experiments.session.reminders import (
    FAILED,
    REMINDED,
    RETRY_AFTER_S,
    SENT,
    SUBSCRIBED,
    UNSUBSCRIBED,
    NextReminder,
    next_reminder,
)
from experiments.session.waves import WaveHistory, WaveVisit
from experiments.study.resolve import resolve
from experiments.study.study import Study

HOUR_US, DAY_US = 3_600_000_000, 86_400_000_000
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia", "UTC")
# Days before both changes of daylight saving on either hemisphere.
STARTS = ("2026-03-05", "2026-03-26", "2026-04-02", "2026-10-01", "2026-10-22", "2026-10-29")
WHENS = ("opening", "10 hours after opening", "1 day after opening", "1 day before closing", "5 hours before closing")


def study(whens: list[str] | tuple[str, ...] = WHENS[:1], missed: str = "drop", **more: object) -> Study:
    waves = [
        {"wave": "First", "flow": [{"step": "info", "text": "Hello."}, {"step": "finish", "code": "A"}]},
        {
            "wave": "Second",
            "opens": {"after": "7 days", "at": "09:00"},
            "open_for": "3 days",
            "missed": missed,
            "flow": [{"step": "finish", "code": "B"}],
        },
    ]
    reminders = {"channels": ["mail", "webhook"], "send": [{"when": when} for when in whens], **more}
    return resolve({"study": "s", "title": "S", "waves": waves, "reminders": reminders}, {}, {})


def history(zone: str = "UTC", start: str = STARTS[0], *more: WaveVisit) -> WaveHistory:
    at_us = round(datetime.fromisoformat(f"{start}T12:00").replace(tzinfo=ZoneInfo(zone)).timestamp() * 1e6)
    return WaveHistory((WaveVisit("first", at_us, at_us + HOUR_US, "complete"), *more), zone)


def fact(seq: int, kind: str, at_us: int, /, **data: object) -> Event:
    return Event(seq, at_us, "system", "", kind, data)


def opened_us(found: NextReminder | None) -> int:
    assert found is not None
    assert found.window.opens_us is not None
    return found.window.opens_us


@given(
    zone=st.sampled_from(ZONES),
    start=st.sampled_from(STARTS),
    whens=st.lists(st.sampled_from(WHENS), min_size=1, unique=True),
    quiet=st.tuples(st.integers(0, 23), st.integers(0, 23)),
    missed=st.sampled_from(("drop", "invite_again")),
    at_most=st.integers(1, 3),
    gaps=st.lists(st.one_of(st.just(15), st.integers(1, 2_000)), min_size=20, max_size=60),
    results=st.lists(st.sampled_from(("sent", "lost", "unknown", "busy", "never")), min_size=60, max_size=60),
)
def test_a_wave_is_reminded_of_within_its_limits_however_the_server_comes_by(
    *,
    zone: str,
    start: str,
    whens: list[str],
    quiet: tuple[int, int],
    missed: str,
    at_most: int,
    gaps: list[int],
    results: list[str],
) -> None:
    hours = {"start": f"{quiet[0]:02}:00", "end": f"{quiet[1]:02}:00"}
    it, him = study(whens, missed, quiet_hours=hours, at_most=at_most), history(zone, start)
    now_us, events, had = him.visits[0].begun_us + 6 * DAY_US, list[Event](), list[tuple[str, int]]()
    for gap_min, result in zip(gaps, results, strict=False):
        now_us += gap_min * 60_000_000
        found = next_reminder(it, him, events, {"mail", "webhook"}, now_us)
        if found is None or found.at_us > now_us:
            later = next_reminder(it, him, events, {"mail", "webhook"}, found.at_us) if found else None
            assert found is None or (later is not None and later.at_us == found.at_us), "it comes when it was said to"
            continue
        clock = datetime.fromtimestamp(now_us / 1e6, ZoneInfo(zone)).hour
        inside = quiet[0] <= clock < quiet[1] if quiet[0] <= quiet[1] else clock >= quiet[0] or clock < quiet[1]
        assert not inside
        assert found.window.opens_us <= now_us < found.window.closes_us  # type: ignore[operator]
        assert found.key not in {event.key for event in events}
        seq = len(events) + 1
        events.append(Event(seq, now_us, "system", "", REMINDED, found.data, found.key))
        if result != "lost":  # the server died in between
            certain = result in ("busy", "never")
            data = {"of": seq, "cause": "x", "certain": certain, "again": result == "busy"}
            events.append(fact(seq + 1, SENT if result == "sent" else FAILED, now_us, **data))
        if result not in ("busy", "never"):
            had.append((found.reminder.when, found.window.round))
            assert found.number == len(had)
    assert len(had) == len(set(had)) <= at_most, "of a wave, over all its rounds"


def test_a_server_that_was_down_sends_the_last_that_is_due_and_keeps_a_distance_to_the_next() -> None:
    it, him = (
        study(
            ["opening", "1 day after opening", "2 days after opening"], quiet_hours={"start": "00:00", "end": "00:00"}
        ),
        history(),
    )
    opens_us = opened_us(next_reminder(it, him, (), ["mail"], him.visits[0].begun_us))
    late_us = opens_us + 2 * DAY_US - HOUR_US
    found = next_reminder(it, him, (), ["mail"], late_us)
    assert found is not None
    assert (found.at_us, found.reminder.when) == (late_us, "1 day after opening")
    after = next_reminder(it, him, [fact(1, REMINDED, late_us, **found.data)], ["mail"], late_us)
    assert after is not None
    assert (after.reminder.when, after.at_us) == ("2 days after opening", late_us + DAY_US // 2)


def test_only_what_certainly_was_not_sent_is_tried_again_then_by_the_next_channel() -> None:
    it, him = study(quiet_hours={"start": "00:00", "end": "00:00"}), history()
    now_us = opened_us(next_reminder(it, him, (), ["mail"], him.visits[0].begun_us))
    events, channels = list[Event](), list[str]()
    while (found := next_reminder(it, him, events, ["mail", "webhook"], now_us)) is not None and len(channels) < 9:
        now_us = found.at_us
        channels.append(found.channel)
        events.append(fact(len(events) + 1, REMINDED, now_us, **found.data))
        again = found.channel == "mail"
        events.append(fact(len(events) + 1, FAILED, now_us, of=len(events), cause="x", certain=True, again=again))
    assert channels == ["mail"] * (1 + len(RETRY_AFTER_S)) + ["webhook"]
    unknown = [*events[:1], fact(2, FAILED, now_us, of=1, cause="x", certain=False, again=False)]
    assert next_reminder(it, him, unknown, ["mail", "webhook"], now_us) is None
    assert next_reminder(it, him, events[:1], ["mail", "webhook"], now_us) is None, "a crash before the result"


@pytest.mark.parametrize(
    "visit",
    [("complete", "second"), ("withdrawn", "second"), ("timed_out", "second"), ("no_consent", "first")],
)
def test_none_after_the_wave_is_done_or_lost(visit: tuple[str, str]) -> None:
    it, him = study(), history()
    now_us = opened_us(next_reminder(it, him, (), ["mail"], him.visits[0].begun_us)) + HOUR_US
    if visit[1] == "first":
        him = WaveHistory((WaveVisit("first", now_us - 8 * DAY_US, now_us - 8 * DAY_US, visit[0]),), "UTC")
    else:
        him = WaveHistory((*him.visits, WaveVisit("second", now_us - 60, now_us, visit[0])), "UTC")
    assert next_reminder(it, him, (), ["mail"], now_us) is None


def test_one_who_has_begun_the_wave_is_reminded_and_one_who_unsubscribed_is_not() -> None:
    it, him = study(), history()
    now_us = opened_us(next_reminder(it, him, (), ["mail"], him.visits[0].begun_us)) + HOUR_US
    begun = WaveHistory((*him.visits, WaveVisit("second", now_us - 60)), "UTC")
    assert next_reminder(it, begun, (), ["mail"], now_us) is not None
    left = [fact(1, SUBSCRIBED, now_us - 9, channel="mail"), fact(2, UNSUBSCRIBED, now_us - 8)]
    assert next_reminder(it, him, left, ["mail", "webhook"], now_us) is None
    assert next_reminder(it, him, [*left, fact(3, SUBSCRIBED, now_us)], ["mail"], now_us) is not None
    assert next_reminder(it, him, (), (), now_us) is None, "reachable by nothing"
