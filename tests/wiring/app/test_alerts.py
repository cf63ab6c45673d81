"""Alerts from a failing model to the researcher's phone: checked, sent once, listed, closed; secrets are masked."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import namedtuple
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app import alerts
from app.alerts import HELP, LOST_WINDOW_S, QUIET_S, SHIFT_S, AlertWatch, failing_calls, lost_ids, post, updated
from app.clock import VirtualClock
from app.errors import BackendUnavailable, NotDelivered
from app.session.service import SessionService
from app.studies.loader import load_study
from app.web import server
from storage.db.engine import Database, open_database
from storage.registers.alerts import AlertKey, change_alerts, mark_seen, open_alerts
from storage.registers.link_problems import count_link_problem
from storage.registers.origins import Origin
from storage.registers.study_status import set_status
from tests.fakes import studies
from tests.fakes.alert_receivers import Posted, webhook
from tests.fakes.backends import PLAYS, Played, registered
from tests.fakes.commanding import parley
from tests.fakes.http_bot import HttpBot
from tests.fakes.model_replies import HOUR_US, OneReply, write_sessions
from tests.fakes.served import serving, settings_for

pytestmark = pytest.mark.anyio
START_US = 10**15
WORDS = "my secret diary"


@pytest.fixture
async def posted() -> AsyncIterator[Posted]:
    async with webhook() as found:
        yield found


@pytest.fixture(autouse=True)
def room_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "DISK_FREE_BYTES", 0)


class Watched:
    """A study of one model, sessions in it, and what watches them."""

    def __init__(self, folder: Path, **more: Any) -> None:
        self.settings = settings_for(folder, model_attempts=1, **more)
        self.database: Database = open_database(self.settings.database_url)
        self.clock = VirtualClock(START_US)
        self.runtime = SessionService(self.database, self.settings, self.clock)
        self.study = load_study(
            str(studies.chat(folder, backend="played", options={}, price={"prompt": 1, "completion": 1}))
        )
        self.runtime.prepare(self.study)
        set_status(self.database, "talk", "published", {"hash": self.study.hash}, by="researcher", at_us=START_US)
        set_status(self.database, "talk", "opened", {}, by="researcher", at_us=START_US)
        self.fault = ""
        self.watch = self.another()

    def another(self) -> AlertWatch:
        """What another process would check with."""
        return AlertWatch(self.settings, self.database, self.clock, lambda: self.fault)

    async def check(self, *, after_s: float = 60) -> list[tuple[str, bool]]:
        """Check, some time later; the kinds of what is sent, and whether it is over."""
        self.clock.advance(after_s)
        return [(alert.key.kind, alert.closed_us is not None) for alert in await self.watch.check()]

    async def talk(self, origin: str = Origin.PERSON, times: int = 1) -> None:
        """Sessions in which a message gets what the model plays."""
        for number in range(times):
            live = await self.runtime.enrol(self.study, origin=origin)
            sure = {"confidence": "very-confident"}
            told = {"text": f"{WORDS} {number}"}
            for kind, values in (("submit", {"agreed": "on"}), ("submit", sure), ("say", told)):
                screen = live.screen
                await self.runtime.participant(live.stream, kind, screen.path, values, seen=screen.seen)
                await self.runtime.settled(live.stream)
                live = await self.runtime.reload(live.stream) or live


@pytest.fixture
async def watched(tmp_path: Path, posted: Posted) -> AsyncIterator[Watched]:
    with registered("played", Played):
        made = Watched(tmp_path, alert_webhook_url=posted.url)
        yield made
        await made.runtime.close()
        made.database.dispose()
    PLAYS.clear()


def failing(times: int) -> None:
    PLAYS["only"] = [BackendUnavailable(f"{WORDS}: sk-secret", reason="status_503") for _ in range(times)]


async def test_a_model_that_changed_is_alerted_for_a_day_and_nothing_is_over_then(watched: Watched) -> None:
    hours = [OneReply(version=version) for version in ("m-1", "m-2")]
    write_sessions(watched.database, "talk", hours, START_US - HOUR_US)
    assert await watched.check() == [("shift", False)]
    (alert,) = open_alerts(watched.database)
    assert (alert.key, alert.data) == (
        AlertKey("shift", "talk", "person", "version of m"), {"before": "m-1", "after": "m-2"},
    )  # fmt: skip
    assert await watched.check() == []
    assert await watched.check(after_s=SHIFT_S) == []
    assert await watched.check(after_s=QUIET_S) == []
    assert open_alerts(watched.database) == ()


async def test_a_model_that_fails_is_alerted_once_and_closed_once(watched: Watched, posted: Posted) -> None:
    assert await watched.check() == []
    failing(2)
    await watched.talk(times=2)
    assert await watched.check() == []
    failing(1)
    await watched.talk()
    assert await watched.check() == [("models", False)]
    assert await watched.check() == []
    assert await watched.another().check() == [], "another process, or this one started anew"
    (alert,) = open_alerts(watched.database)
    assert (alert.key, alert.data["reasons"]) == (AlertKey("models", "talk", "person", "only"), {"status_503": 3})
    assert (alert.undelivered, len(posted.requests)) == ({}, 1)
    await watched.talk(times=10)
    assert await watched.check(after_s=QUIET_S) == [("models", True)], "a quarter of its calls, no longer"
    assert await watched.check(after_s=600) == []
    assert (open_alerts(watched.database), len(posted.requests)) == ((), 2)
    for sent in posted.texts:
        assert "talk" in sent
        assert not [word for word in (WORDS, "sk-", "secret") if word in sent]


async def test_simulated_sessions_are_left_out_and_pilots_are_named(watched: Watched) -> None:
    failing(3)
    await watched.talk(Origin.BOT, times=3)
    assert await watched.check() == []
    failing(3)
    await watched.talk(Origin.PILOT, times=3)
    assert await watched.check() == [("models", False)]
    assert open_alerts(watched.database)[0].key.origin == "pilot"


async def test_a_budget_and_a_quota_are_alerted_and_seen_by_the_first(watched: Watched) -> None:
    await watched.talk()
    for kind, data in (("budgeted", {"amount": 0.0001, "where": {}}), ("capped", {"where": {}, "most": 1})):
        set_status(watched.database, "talk", kind, data, by="researcher", at_us=watched.clock.now_us())  # type: ignore[arg-type]
    assert await watched.check() == [("budget", False), ("quota", False)]
    alert, _ = open_alerts(watched.database)
    assert [one.id for one in mark_seen(watched.database, [alert.id, 99], "ada", 5)] == [alert.id]
    assert mark_seen(watched.database, [alert.id], "bob", 6) == ()
    set_status(watched.database, "talk", "closed", {"why": "done"}, by="researcher", at_us=watched.clock.now_us())
    assert await watched.check(after_s=QUIET_S) == [("budget", True), ("quota", True)]


def test_an_alert_that_a_person_settled_is_over_at_the_next_check() -> None:
    keys = [AlertKey(kind, "talk", "person", "1") for kind in (HELP, "quota")]
    known = [alerts.Alert(key, {}, opened_us=1, last_us=START_US, notified_us=1, id=1) for key in keys]
    assert [alert.key for alert in updated(known, [], START_US + 60 * 10**6)] == keys[:1]


async def test_links_that_lose_their_ids_are_alerted_until_they_are_mended(watched: Watched) -> None:
    await watched.talk()
    for number in range(5):
        assert await watched.check() == []
        at_us = watched.clock.now_us()
        count_link_problem(watched.database, "talk", "unfilled", f"name-{number}", at_us, started=number == 0)
    count_link_problem(watched.database, "another", "unfilled", "pid", watched.clock.now_us(), started=False)
    assert await watched.check() == [("links", False)]
    (alert,) = open_alerts(watched.database)
    assert (alert.key.study, alert.data) == ("talk", {"refused": 4, "started": 1, "sessions": 1})
    assert await watched.check(after_s=LOST_WINDOW_S + QUIET_S) == [("links", True)]


@pytest.mark.parametrize(
    ("number", "reasons", "alerted"),
    [
        (2, {"status_503": 2}, False),
        (3, {"status_503": 2, "circuit_open": 1}, True),
        (12, {"connection": 3}, True),
        (13, {"connection": 3}, False),
        (9, {"content_filter": 9}, False),
        (9, {"content_filter": 6, "status_401": 3}, True),
    ],
)
async def test_failed_calls_count_by_number_and_share_and_not_those_of_a_message(
    number: int, reasons: dict[str | None, int], alerted: bool
) -> None:
    calls = {None: number - sum(reasons.values()), **reasons}
    assert len([*failing_calls(("s", "person", "gpt"), calls)]) == alerted


@pytest.mark.parametrize(
    ("refused", "started", "sessions", "alerted"),
    [(4, 0, 0, False), (5, 0, 0, True), (0, 5, 5, True), (0, 5, 100, True), (0, 5, 101, False)],
)
async def test_links_that_lose_ids_count_by_number_and_share(
    refused: int, started: int, sessions: int, alerted: bool
) -> None:
    assert len([*lost_ids("s", refused, started, sessions)]) == alerted


async def test_a_full_disk_is_alerted_once(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100_000_000_000, 98_000_000_000, 2_000_000_000))
    monkeypatch.setattr(alerts, "DISK_FREE_BYTES", 5e9)
    assert await watched.check() == [("disk", False)]


async def test_a_database_that_cannot_be_written_is_alerted_without_it(watched: Watched, posted: Posted) -> None:
    watched.fault = f"the database could not be written: {WORDS}"
    assert await watched.check() == [("database", False)]
    assert await watched.check() == []
    watched.fault = ""
    assert await watched.check() == []
    assert await watched.check(after_s=QUIET_S) == [("database", True)]
    assert open_alerts(watched.database) == ()
    assert len(posted.texts) == 2
    assert WORDS not in "".join(posted.texts)


async def test_of_several_processes_that_decide_at_once_one_opens_an_alert(database_url: str) -> None:
    database = open_database(database_url)
    held: list[alerts.Condition] = [(AlertKey("quota", "s"), {}), (AlertKey("disk", subject="/"), {"free": 1})]
    decide = partial(updated, observed=held, now_us=START_US)
    found = await asyncio.gather(*(asyncio.to_thread(change_alerts, database, decide) for _ in range(6)))
    opened = [alert.id for before, changed in found if not before for alert in changed]
    assert sorted(opened) == sorted(alert.id for alert in open_alerts(database))
    change_alerts(database, partial(updated, observed=held[1:], now_us=START_US + QUIET_S * 10**6))
    assert [alert.key for alert in open_alerts(database)] == [held[1][0]]
    database.dispose()


async def test_a_failed_delivery_is_kept_with_the_alert_without_the_secret_url(
    watched: Watched, posted: Posted, caplog: pytest.LogCaptureFixture
) -> None:
    posted.status, posted.headers = 302, {"location": "/elsewhere"}
    failing(3)
    await watched.talk(times=3)
    assert await watched.check() == [("models", False)]
    (alert,) = open_alerts(watched.database)
    assert "302" in alert.undelivered["webhook"]
    assert len(posted.requests) == 1
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("uvicorn")]
    assert "secret-path" not in "".join([*ours, *alert.undelivered.values()])


async def test_nobody_at_the_other_end() -> None:
    with pytest.raises(NotDelivered) as refused:
        await post("http://127.0.0.1:9/secret-path", "Alert: one")
    assert "secret-path" not in str(refused.value)


async def test_a_server_checks_by_itself(tmp_path: Path, posted: Posted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(server.EVERY_S, "alerts", 0.05)
    study = studies.chat(tmp_path)
    settings = settings_for(tmp_path, alert_webhook_url=posted.url)
    async with serving(settings, study) as served, HttpBot(served.url, "somebody") as bot:
        set_status(served.database, "talk", "capped", {"where": {}, "most": 1}, by="researcher", at_us=1)
        await bot.arrive("talk")
        await bot.until(path="with_ai")
        async with asyncio.timeout(60):
            while not posted.requests:
                await asyncio.sleep(0.05)
        await bot.finish()
        assert [alert.key.kind for alert in open_alerts(served.database)] == ["quota"]


async def test_the_command_lists_alerts_and_tests_the_webhook(watched: Watched, posted: Posted) -> None:
    folder = watched.settings.studies_dir.parent
    env = {"PARLEY_ALERT_WEBHOOK_URL": posted.url}
    failing(3)
    await watched.talk(times=3)
    await watched.check()
    listed = json.loads((await asyncio.to_thread(parley, "alerts", "--json", folder=folder, **env)).stdout)
    assert [(one["kind"], one["subject"]) for one in listed] == [("models", "only")]
    posted.status = 403
    tested = await asyncio.to_thread(parley, "alerts", "--test", folder=folder, **env)
    assert (tested.returncode, len(posted.requests), "403" in tested.stdout) == (1, 2, True)
    none = await asyncio.to_thread(parley, "alerts", "--test", folder=folder)
    assert (none.returncode, "PARLEY_ALERT_WEBHOOK_URL" in none.stderr) == (2, True)
