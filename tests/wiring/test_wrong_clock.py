"""A clock of the machine that jumps back, in a session or while Parley is stopped: no time is lost or negative."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from sqlalchemy import select

from app.clock import SystemClock, VirtualClock
from storage import tables
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Served, serving, settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.nightly]
NOW_US = 1_790_000_000_000_000
HOUR_US = 3_600_000_000


def times(served: Served, stream: str) -> list[int]:
    """When a session's events were, in their order."""
    event = tables.metadata.tables["event"].c
    with served.database.connect() as connection:
        return [*connection.scalars(select(event.at_us).where(event.stream == stream).order_by(event.seq))]


async def test_a_clock_that_goes_back_at_every_step_takes_nobody_back(tmp_path: Path) -> None:
    clock = VirtualClock(NOW_US)
    settings, study = settings_for(tmp_path), studies.short(tmp_path)
    async with serving(settings, study, clock=clock) as served, HttpBot(served.url, "someone") as bot:
        await bot.arrive("short")
        for hour in range(1, 200):
            clock.set(NOW_US - hour * HOUR_US)
            if not await bot.step():
                break
        assert bot.screen.outcome == "complete"
        found = times(served, bot.stream)
    assert len(found) > 5
    assert found == sorted(found)
    assert min(found) >= NOW_US


async def test_a_machine_that_wakes_in_the_past_goes_on_from_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, study = settings_for(tmp_path), studies.short(tmp_path)
    async with serving(settings, study) as served, HttpBot(served.url, "someone") as bot:
        await bot.arrive("short")
        await bot.step()
        cookies, before = bot.client.cookies, times(served, bot.stream)
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - 1000 * 24 * HOUR_US)
    async with serving(settings, study) as served, HttpBot(served.url, "someone") as bot:
        bot.client.cookies = cookies
        await bot.look()
        await bot.finish()
        after = times(served, bot.stream)
    assert after[: len(before)] == before
    assert after == sorted(after)


def test_the_clock_of_a_server_goes_on_while_the_machines_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    begun = clock.now_us()
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    assert clock.now_us() >= begun
