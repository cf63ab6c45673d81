"""When the waves of a person open, and what becomes of them, through both changes of daylight saving."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.session.waves import WaveHistory, WaveVisit, WaveWindow, next_window, wave_schedule
from tests.fakes.waves import WAVES, study, us

BERLIN = "Europe/Berlin"
FIRST = WaveVisit("week-1", us("2027-03-21 19:50"), us("2027-03-21 20:00"), "complete")


def taken(wave: str, begun: str, ended: str = "", outcome: str = "complete") -> WaveVisit:
    return WaveVisit(wave, us(begun), us(ended) if ended else None, outcome if ended else None)


def at(now: str, *visits: WaveVisit, zone: str = BERLIN, **keys: Any) -> tuple[WaveWindow, ...]:
    return wave_schedule(study(**keys), WaveHistory((FIRST, *visits), zone), us(now))


def states(*windows: WaveWindow) -> list[str]:
    return [window.state for window in windows]


SECOND = taken("week-2", "2027-03-28 10:00", "2027-03-28 10:20")
BEGUN = taken("week-2", "2027-03-28 10:00")
SPRING: dict[str, tuple[str, list[WaveVisit], list[str]]] = {
    "between": ("2027-03-28 08:59", [], ["done", "upcoming", "upcoming", "upcoming"]),
    "at nine, on the day that is an hour shorter": ("2027-03-28 09:00", [], ["done", "open", "upcoming", "upcoming"]),
    "in the grace": ("2027-03-30 20:59", [], ["done", "late", "upcoming", "upcoming"]),
    "invited again, at the next nine": ("2027-03-30 21:00", [], ["done", "upcoming", "upcoming", "upcoming"]),
    "open again": ("2027-03-31 09:00", [], ["done", "open", "upcoming", "upcoming"]),
    "missed twice": ("2027-04-02 21:00", [], ["done", "missed", "upcoming", "upcoming"]),
    "in progress": ("2027-03-30 20:59", [BEGUN], ["done", "live", "upcoming", "upcoming"]),
    "begun and left": ("2027-03-30 21:00", [BEGUN], ["done", "missed", "upcoming", "upcoming"]),
    "next, too early": ("2027-03-28 20:19", [SECOND], ["done", "done", "upcoming", "upcoming"]),
    "next": ("2027-03-28 20:20", [SECOND], ["done", "done", "open", "upcoming"]),
    "the last is open although one was missed": ("2027-04-20 08:30", [SECOND], ["done", "done", "missed", "open"]),
    "the end": ("2027-04-27 08:30", [SECOND], ["done", "done", "missed", "missed"]),
    "turned away": (
        "2027-04-20 08:30", [taken("week-2", "2027-03-28 10:00", "2027-03-28 10:20", "no_consent")],
        ["done", "missed", "dropped", "dropped"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("now", "visits", "wanted"), SPRING.values(), ids=SPRING)
def test_states(now: str, visits: list[WaveVisit], wanted: list[str]) -> None:
    assert states(*at(now, *visits)) == wanted


def test_a_day_is_the_calendars_and_an_hour_exact() -> None:
    week, evening = (
        at("2027-03-27 00:00")[1],
        at("2027-03-29 00:00", taken("week-2", "2027-03-28 01:00", "2027-03-28 01:30")),
    )
    assert (week.opens_us, week.closes_us) == (us("2027-03-28 09:00"), us("2027-03-30 09:00"))
    assert evening[2].opens_us == us("2027-03-28 12:30"), "ten hours, of which the clock leaves out one"
    back = WaveHistory((WaveVisit("week-1", us("2026-10-17 12:00"), us("2026-10-17 12:30"), "complete"),), BERLIN)
    autumn = wave_schedule(study(), back, us("2026-10-24 10:00"))[1]
    assert autumn.opens_us == us("2026-10-24 09:00")
    assert autumn.closes_us == us("2026-10-26 09:00") == us("2026-10-24 09:00") + 49 * 3_600_000_000


@pytest.mark.parametrize(
    ("day", "hour", "utc"),
    [("2027-03-28", "02:30", "2027-03-28 01:30"), ("2027-10-31", "02:30", "2027-10-31 00:30")],
    ids=["an hour that is left out", "an hour that comes twice"],
)
def test_hours_that_are_none_or_two(day: str, hour: str, utc: str) -> None:
    waves = [WAVES[0], {**WAVES[3], "opens": {"on": day, "at": hour}}]
    assert at("2027-03-22 00:00", waves=waves)[1].opens_us == us(utc, "UTC")


def test_hours_are_those_of_the_participants_zone() -> None:
    opens = {zone: at("2027-03-22 00:00", zone=zone)[3].opens_us for zone in (BERLIN, "Asia/Tokyo", "")}
    assert opens == {zone: us("2027-04-20 08:30", zone or "UTC") for zone in opens}


def test_whoever_is_dropped_or_did_not_complete_the_first_wave_goes_no_further() -> None:
    drop = [WAVES[0], {**WAVES[1], "missed": "drop"}, *WAVES[2:]]
    windows = at("2027-03-30 21:00", waves=drop)
    assert states(*windows) == ["done", "missed", "dropped", "dropped"]
    assert next_window(windows) is None
    left = WaveHistory((WaveVisit("week-1", us("2027-03-21 19:50"), us("2027-03-21 20:00"), "timed_out"),), BERLIN)
    assert states(*wave_schedule(study(), left, us("2027-03-22 00:00"))) == ["missed", "dropped", "dropped", "dropped"]


def test_a_wave_that_was_begun_keeps_its_end_when_the_person_moves() -> None:
    begun = WaveVisit("week-2", us("2027-03-28 10:00"), until_us=us("2027-03-30 21:00"))
    moved = at("2027-03-30 20:59", begun, zone="Asia/Tokyo")[1]
    assert (moved.state, moved.until_us) == ("live", us("2027-03-30 21:00"))


def test_waves_come_in_their_order_though_the_windows_of_two_dates_overlap() -> None:
    waves = [WAVES[0], WAVES[3], {**WAVES[3], "wave": "Again", "opens": {"on": "2027-04-21"}}]
    assert states(*at("2027-04-22 00:00", waves=waves)) == ["done", "open", "upcoming"]
    last = taken("last", "2027-04-22 00:00", "2027-04-22 00:10")
    assert states(*at("2027-04-22 00:10", last, waves=waves)) == ["done", "done", "open"]
