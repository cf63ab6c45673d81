"""Alerts from a failing model to the researcher's phone: checked, sent once, shown, seen, closed."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.alerts import channels
from app.alerts.channels import channels_of, deliver
from app.alerts.conditions import LOST_WINDOW_S, Condition
from app.alerts.lifecycle import QUIET_S, RESEND_FOR_S, RESEND_S, Notice, notices, updated
from app.alerts.watch import AlertWatch
from app.clock import VirtualClock
from app.config.settings import Settings
from app.errors import BackendUnavailable, NotDelivered, SettingsError
from app.session.service import SessionService
from app.studies.loader import load_study
from storage.db.advisory_locks import AdvisoryLocks
from storage.db.engine import Database, open_database
from storage.registers.alerts import (
    Alert,
    AlertKey,
    alerts_since,
    change_alerts,
    mark_seen,
    open_alerts,
    record_delivery,
    take_undelivered,
)
from storage.registers.link_problems import count_link_problem
from storage.registers.origins import Origin
from storage.registers.study_status import set_status
from tests.fakes import studies
from tests.fakes.alert_receivers import Mailbox, Posted, mailbox, webhook
from tests.fakes.backends import PLAYS, Played, registered
from tests.fakes.certificate import self_signed
from tests.fakes.commanding import parley
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import serving, settings_for

pytestmark = pytest.mark.anyio
START_US = 10**15
KEY = "whsec_" + b64encode(b"0123456789abcdef0123456789abcdef").decode()
WORDS = "my secret diary"
NOTICE = Notice(Alert(AlertKey("quota", "s"), {}, START_US, START_US, START_US, id=7), "opened")


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "PAUSE_S", 0.0)


@pytest.fixture
async def posted() -> AsyncIterator[Posted]:
    async with webhook() as found:
        yield found


@pytest.fixture
def box() -> Iterator[Mailbox]:
    with mailbox() as found:
        yield found


def mail_settings(box: Mailbox, **more: Any) -> dict[str, Any]:
    known = {"smtp_host": "127.0.0.1", "smtp_port": box.port, "smtp_tls": "none"}
    return {**known, "alert_mail_from": "parley@test.example", "alert_mail_to": "ada@test.example", **more}


class Watched:
    """A study of one model, sessions in it, and what watches them."""

    def __init__(self, folder: Path, **more: Any) -> None:
        self.settings = settings_for(folder, alert_disk_free_gb=0, model_attempts=1, **more)
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

    async def check(self, *, after_s: float = 60) -> list[tuple[str, str]]:
        """Check, some time later; the kinds and states of what is sent."""
        self.clock.advance(after_s)
        found = await self.watch.check()
        await self.watch.sent()
        return [(notice.alert.key.kind, notice.state) for notice in found]

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
async def watched(tmp_path: Path, posted: Posted, box: Mailbox) -> AsyncIterator[Watched]:
    with registered("played", Played):
        made = Watched(tmp_path, alert_webhook_url=posted.url, alert_webhook_secret=KEY, **mail_settings(box))
        yield made
        await made.runtime.close()
        made.database.dispose()
    PLAYS.clear()


def failing(times: int) -> None:
    PLAYS["only"] = [BackendUnavailable(f"{WORDS}: sk-secret", reason="status_503") for _ in range(times)]


async def test_a_model_that_fails_is_alerted_once_by_each_channel_and_closed_once(
    watched: Watched, posted: Posted, box: Mailbox
) -> None:
    assert await watched.check() == []
    failing(2)
    await watched.talk(times=2)
    assert await watched.check() == []
    failing(1)
    await watched.talk()
    assert await watched.check() == [("models", "opened")]
    assert await watched.check() == []
    assert await watched.another().check() == (), "another process, or this one started anew"
    (alert,) = open_alerts(watched.database)
    assert (alert.key, alert.data["reasons"]) == (AlertKey("models", "talk", "person", "only"), {"status_503": 3})
    assert (alert.undelivered, len(posted.requests), len(box.messages)) == ({}, 1, 1)
    await watched.talk(times=10)
    assert await watched.check(after_s=QUIET_S) == [("models", "closed")], "a quarter of its calls, no longer"
    assert await watched.check(after_s=600) == []
    assert (open_alerts(watched.database), len(posted.requests), len(box.messages)) == ((), 2, 2)
    (closed,) = alerts_since(watched.database, START_US)
    assert closed.closed_us is not None
    mails = [f"{message['Subject']} {message.get_content()}" for message in box.messages]
    for sent in (*posted.texts, *mails, *(content.decode() for _, content in posted.requests)):
        assert "talk" in sent
        assert not [word for word in (WORDS, "sk-", "secret") if word in sent]


async def test_a_reminder_comes_until_somebody_has_seen_the_alert(watched: Watched) -> None:
    await watched.talk()
    set_status(watched.database, "talk", "budgeted", {"amount": 0.0001, "where": {}}, by="researcher", at_us=START_US)
    hours = round(watched.settings.alert_reminder_h)
    assert await watched.check() == [("budget", "opened")]

    async def hourly() -> list[tuple[str, str]]:
        found = [one for _ in range(2 * hours) for one in await watched.check(after_s=3600)]
        return [one for one in found if one[0] == "budget"]

    assert await hourly() == [("budget", "reminder")] * 2
    (alert,) = open_alerts(watched.database)
    assert [one.id for one in mark_seen(watched.database, [alert.id, 99], "ada", 5)] == [alert.id]
    assert mark_seen(watched.database, [alert.id], "bob", 6) == ()
    assert await hourly() == []
    assert open_alerts(watched.database)[0].seen_by == "ada"


async def test_rehearsals_by_bots_are_left_out_and_pilots_are_named(watched: Watched, posted: Posted) -> None:
    failing(3)
    await watched.talk(Origin.BOT, times=3)
    assert await watched.check() == []
    failing(3)
    await watched.talk(Origin.PILOT, times=3)
    assert await watched.check() == [("models", "opened")]
    assert "pilot" in posted.texts[0]


async def test_somebody_stuck_a_budget_and_a_quota_are_alerted(watched: Watched) -> None:
    await watched.talk()
    live = await watched.runtime.enrol(watched.study, origin=Origin.PERSON)
    assert live.screen.path == "consent"
    assert await watched.check(after_s=1_000) == []
    assert await watched.check(after_s=1_000) == [("stuck", "opened")]
    (alert,) = open_alerts(watched.database)
    assert alert.data["sessions"] == [1], "who has not consented is not stuck"
    for kind, data in (("budgeted", {"amount": 0.0001, "where": {}}), ("capped", {"where": {}, "most": 1})):
        set_status(watched.database, "talk", kind, data, by="researcher", at_us=watched.clock.now_us())  # type: ignore[arg-type]
    assert await watched.check() == [("budget", "opened"), ("quota", "opened")]
    set_status(watched.database, "talk", "closed", {"why": "done"}, by="researcher", at_us=watched.clock.now_us())
    assert await watched.check(after_s=QUIET_S) == [("budget", "closed"), ("quota", "closed")]


async def test_links_that_lose_their_ids_are_alerted_until_they_are_mended(watched: Watched, posted: Posted) -> None:
    await watched.talk()
    for number in range(5):
        assert await watched.check() == []
        at_us = watched.clock.now_us()
        count_link_problem(watched.database, "talk", "unfilled", f"name-{number}", at_us, started=number == 0)
    count_link_problem(watched.database, "another", "unfilled", "pid", watched.clock.now_us(), started=False)
    assert await watched.check() == [("links", "opened")]
    (alert,) = open_alerts(watched.database)
    assert (alert.key.study, alert.data) == ("talk", {"refused": 4, "started": 1, "sessions": 1})
    assert "parley show status talk" in posted.texts[0]
    assert ("links", "closed") in await watched.check(after_s=LOST_WINDOW_S + QUIET_S)


async def test_a_full_disk(tmp_path: Path, watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    thresholds = replace(watched.watch._thresholds, disk_free_bytes=1e30)
    monkeypatch.setattr("app.alerts.conditions.DISK_FREE_SHARE", 1.0)
    watched.watch._thresholds = thresholds
    assert await watched.check() == [("disk", "opened")]


async def test_a_database_that_cannot_be_written_is_alerted_without_it(watched: Watched, posted: Posted) -> None:
    watched.fault = f"the database could not be written: {WORDS}"
    assert await watched.check() == [("database", "opened")]
    assert await watched.check() == []
    watched.fault = ""
    assert await watched.check() == []
    assert await watched.check(after_s=QUIET_S) == [("database", "closed")]
    assert open_alerts(watched.database) == ()
    assert len(posted.texts) == 2
    assert WORDS not in "".join(posted.texts)


async def test_of_several_processes_that_decide_at_once_one_opens_an_alert_and_sends_it(database_url: str) -> None:
    database = open_database(database_url)
    held = [Condition(AlertKey("quota", "s")), Condition(AlertKey("disk", subject="/data"), {"free": 1, "size": 2})]
    decide = partial(updated, observed=held, now_us=START_US, remind_s=60)
    found = await asyncio.gather(*(asyncio.to_thread(change_alerts, database, decide) for _ in range(6)))
    sent = [notice.alert.id for pair in found for notice in notices(*pair)]
    assert sorted(sent) == sorted(alert.id for alert in open_alerts(database))
    record_delivery(database, sent[0], {"mail": "it answered 550"})
    closing = partial(updated, observed=held[1:], now_us=START_US + QUIET_S * 10**6, remind_s=1e9)
    assert [one.state for one in notices(*change_alerts(database, closing))] == ["closed"]
    (left,) = open_alerts(database)
    assert (left.key, left.data, len(alerts_since(database, START_US))) == (held[1].key, held[1].data, 2)
    database.dispose()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_one_process_of_several_checks(tmp_path: Path, database_url: str) -> None:
    settings = settings_for(tmp_path, alert_disk_free_gb=0, database_url=database_url)
    database = open_database(settings.database_url)
    one, other = (AdvisoryLocks(database) for _ in range(2))
    first, second = (AlertWatch(settings, database, VirtualClock(0), claims=claims) for claims in (one, other))
    await first.check()
    assert (await first._is_leading(), await second._is_leading()) == (True, False)
    one.close()
    assert await second._is_leading(), "the next one, once the first has ended"
    other.close()
    database.dispose()


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [(500, {}, "500"), (404, {}, "404"), (302, {"location": "/elsewhere"}, "302")],
)
async def test_a_webhook_that_refuses_is_tried_thrice_and_noted_and_follows_no_redirect(
    status: int, headers: dict[str, str], said: str, posted: Posted, caplog: pytest.LogCaptureFixture
) -> None:
    posted.status, posted.headers = status, headers
    caplog.set_level(logging.DEBUG)
    undelivered = await deliver(channels_of(Settings(_env_file=None, alert_webhook_url=posted.url)), NOTICE)
    assert [said in why and "secret-path" not in why for why in undelivered.values()] == [True]
    assert len(posted.requests) == channels.TRIES
    assert len({headers["webhook-id"] for headers, _ in posted.requests}) == 1
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("uvicorn")]
    assert "secret-path" not in "".join(ours)


async def test_a_failed_delivery_is_kept_with_the_alert(watched: Watched, posted: Posted, box: Mailbox) -> None:
    posted.status = 500
    box.unknown = {"ada"}
    failing(3)
    await watched.talk(times=3)
    assert await watched.check() == [("models", "opened")]
    (alert,) = open_alerts(watched.database)
    assert {name: "550" in why or "500" in why for name, why in alert.undelivered.items()} == {
        "webhook": True,
        "mail": True,
    }
    assert box.messages == []
    posted.status, box.unknown = 200, set()
    for _ in range(4):
        failing(3)
        await watched.talk(times=3)
    failing(3)
    watched.clock.advance(3600 * 12)
    await watched.talk(times=3)
    assert await watched.check() == [("models", "reminder")]
    (alert,) = open_alerts(watched.database)
    assert (alert.undelivered, len(box.messages)) == ({}, 1)


async def test_a_closing_message_is_sent_again_by_the_channel_that_failed_until_it_is_delivered(
    watched: Watched, posted: Posted, box: Mailbox
) -> None:
    key = AlertKey("disk", subject="/data")
    database = watched.database
    data = {"free": 1e9, "size": 5e9}
    closed = Alert(key, data, START_US, START_US, START_US, closed_us=START_US, undelivered={"webhook": "it was down"})
    change_alerts(database, lambda _: [closed])
    posted.status = 500
    assert await watched.check(after_s=RESEND_S - 60) == []
    assert await watched.check() == [("disk", "closed")]
    assert await watched.check() == []
    posted.status, before = 200, len(posted.requests)
    assert await watched.check(after_s=RESEND_S) == [("disk", "closed")]
    assert (len(posted.requests) - before, box.messages) == (1, []), "the mail was delivered before"
    assert await watched.check(after_s=RESEND_S) == []


async def test_a_closing_message_is_given_up_after_a_day_and_if_the_alert_is_open_again(watched: Watched) -> None:
    for subject, opened_us in (("old", START_US - int(RESEND_FOR_S * 1e6)), ("again", START_US)):
        key = AlertKey("disk", subject=subject)
        closed = Alert(key, {}, opened_us, opened_us, opened_us, closed_us=opened_us, undelivered={"webhook": "down"})
        change_alerts(watched.database, lambda _, closed=closed: [closed])
    change_alerts(watched.database, lambda _: [Alert(AlertKey("disk", subject="again"), {}, *3 * [START_US])])
    assert take_undelivered(watched.database, START_US, START_US, START_US) == ()


async def test_what_is_posted_is_signed(posted: Posted) -> None:
    settings = Settings(_env_file=None, alert_webhook_url=posted.url, alert_webhook_secret=KEY)
    (channel,) = channels_of(settings)
    assert (await channel.send(NOTICE)).startswith("200")
    ((headers, content),) = posted.requests
    signed = b".".join((headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), content))
    key = b64decode(KEY.removeprefix("whsec_"))
    assert headers["webhook-signature"] == "v1," + b64encode(hmac.digest(key, signed, "sha256")).decode()
    told = orjson.loads(content)
    assert (told["state"], told["alert"]["kind"], told["alert"]["study"]) == ("opened", "quota", "s")
    assert told["alert"]["link"] in told["text"]


async def test_a_mail_says_what_happened_and_that_nobody_wrote_it(box: Mailbox) -> None:
    given = mail_settings(box, alert_mail_to="ada@test.example, bob@test.example")
    (channel,) = channels_of(Settings(_env_file=None, **given))
    assert "queued as 1" in await channel.send(NOTICE)
    (message,) = box.messages
    assert box.recipients == [["ada@test.example", "bob@test.example"]]
    assert (message["From"], message["Auto-Submitted"]) == ("parley@test.example", "auto-generated")
    assert "s: the participant quota is reached" in message["Subject"]


async def test_nobody_at_the_other_end(tmp_path: Path) -> None:
    both = {**mail_settings(Mailbox(port=9)), "alert_webhook_url": "http://127.0.0.1:9/secret-path"}
    for channel in channels_of(Settings(_env_file=None, **both)):
        with pytest.raises(NotDelivered) as refused:
            await channel.send(NOTICE)
        assert "secret-path" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"alert_webhook_secret": KEY}, "PARLEY_ALERT_WEBHOOK_URL"),
        ({"alert_mail_to": "a@b.c", "alert_mail_from": "a@b.c"}, "PARLEY_SMTP_HOST"),
        ({"smtp_host": "mail"}, "PARLEY_ALERT_MAIL_TO"),
        ({"smtp_host": "mail", "alert_mail_to": "a@b.c"}, "PARLEY_ALERT_MAIL_FROM"),
        ({"smtp_host": "mail", "alert_mail_to": "a@b.c", "smtp_user": "a@b.c"}, "PARLEY_SMTP_PASSWORD"),
        (
            {
                "smtp_host": "m",
                "alert_mail_to": "a@b.c",
                "smtp_user": "a@b.c",
                "smtp_password": "x",
                "smtp_tls": "none",
            },
            "unencrypted",
        ),
    ],
)
async def test_settings_that_do_not_go_together_are_refused_at_the_start(
    given: dict[str, str], named: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=named):
        channels_of(Settings(_env_file=None, **given))


async def test_a_server_checks_by_itself_and_answers_while_a_webhook_does_not(tmp_path: Path, posted: Posted) -> None:
    study = studies.chat(tmp_path)
    settings = settings_for(tmp_path, alert_interval_s=0.05, alert_webhook_url=posted.url, alert_disk_free_gb=0)
    async with serving(settings, study) as served, HttpBot(served.url, "somebody") as bot:
        set_status(served.database, "talk", "capped", {"where": {}, "most": 1}, by="researcher", at_us=1)
        await bot.arrive("talk")
        await bot.until(path="with_ai")
        async with asyncio.timeout(60):
            while not posted.requests:
                await asyncio.sleep(0.05)
        await bot.finish()
    assert [alert.key.kind for alert in open_alerts_of(settings)] == ["quota"]
    assert len(posted.requests) == 1


def command(folder: Path, *words: str, **env: Any) -> Any:
    return parley("alerts", *words, folder=folder, **{name: str(value) for name, value in env.items()})


async def test_the_command_lists_alerts_and_tests_each_channel(watched: Watched, posted: Posted, box: Mailbox) -> None:
    folder = watched.settings.studies_dir.parent
    given = {"alert_webhook_url": posted.url, **mail_settings(box)}
    env = {f"PARLEY_{name.upper()}": value for name, value in given.items()}
    failing(3)
    await watched.talk(times=3)
    await watched.check()
    listed = json.loads((await asyncio.to_thread(command, folder, "--json", **env)).stdout)
    assert listed["channels"] == ["webhook", "mail"]
    assert [(one["kind"], one["subject"]) for one in listed["alerts"]] == [("models", "only")]
    posted.status = 403
    tested = await asyncio.to_thread(command, folder, "--test", "--json", **env)
    answers = {name: (one["delivered"], one["answer"].split()[0]) for name, one in json.loads(tested.stdout).items()}
    assert answers == {"webhook": (False, "it"), "mail": (True, "250")}
    assert (tested.returncode, len(box.messages)) == (1, 2)
    none = await asyncio.to_thread(command, folder, "--test")
    assert (none.returncode, "PARLEY_ALERT_WEBHOOK_URL" in none.stderr) == (2, True)


def open_alerts_of(settings: Settings) -> tuple[Alert, ...]:
    database = open_database(settings.database_url)
    found = open_alerts(database)
    database.dispose()
    return found


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("channel", ["webhook", "mail"])
async def test_a_private_authority_counts_for_alerts_if_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, channel: str, trusted: bool
) -> None:
    certificate = self_signed(tmp_path / "there.pem")
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with mailbox("tls", certificate) as box:
        async with webhook(certificate) as posted:
            to = {"webhook": {"alert_webhook_url": posted.url}, "mail": mail_settings(box, smtp_tls="tls")}
            (found,) = channels_of(Settings(_env_file=None, **to[channel]))
            if trusted:
                await found.send(NOTICE)
            else:
                with pytest.raises(NotDelivered):
                    await found.send(NOTICE)
    assert len(posted.requests) + len(box.messages) == trusted


async def test_a_webhook_is_reached_by_a_proxy_that_is_named_without_a_scheme(
    posted: Posted, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", posted.url.split("/")[2])
    (channel,) = channels_of(Settings(_env_file=None, alert_webhook_url="http://hooks.example/x"))
    await channel.send(NOTICE)
    assert [headers["host"] for headers, _ in posted.requests] == ["hooks.example"]
