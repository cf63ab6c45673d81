"""Reminders as messages of Prolific and as signed posts, and what is known where one fails."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.errors import SettingsError
from app.session.reminders.channels import Failure
from app.session.reminders.message import RemindedPerson, ReminderMessage
from app.use_cases.remind import reminder_channels
from experiments.session.reminders import next_reminder
from storage.datasets.tidy.columns import person_id
from storage.db.engine import Database
from tests.fakes.alert_receivers import webhook
from tests.fakes.http_server import Fault
from tests.fakes.prolific_api import TOKEN, FakeProlific, prolific_api
from tests.fakes.recruited import made
from tests.fakes.reminders import FIRST_US, history, study
from tests.fakes.served import settings_for

DAY_US = 86_400_000_000
SECRET = "fedcba9876543210fedcba9876543210"
pytestmark = pytest.mark.anyio


@pytest.fixture
def fake() -> Iterator[FakeProlific]:
    with prolific_api() as served:
        yield served


def message() -> ReminderMessage:
    found = next_reminder(study(), history(), (), ["prolific"], FIRST_US + 7 * DAY_US)
    assert found is not None
    return ReminderMessage(
        study(), found, RemindedPerson("ab" * 16, "UTC", "en", "5f3a0c", "https://go", "https://end")
    )


def test_a_message_of_prolific_has_the_link_and_a_lost_answer_is_not_asked_again(
    fake: FakeProlific, database: Database, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path, prolific_token=TOKEN, prolific_url=fake.url)
    channel = reminder_channels(settings, database, lambda: 0)["prolific"]
    assert channel.send(message()) == Failure("not_recruited", certain=True)
    fake.submissions["s"] = {"participant_id": "5f3a0c", "study": "at-prolific"}
    for study_there in ("at-prolific", "another"):
        fake.studies[study_there] = {}
        made(database, "weeks", study_there)
    channel.open()
    assert channel.send(message()) is None
    (sent,) = fake.messages
    assert (sent["to"], sent["study"]) == ("5f3a0c", "at-prolific")
    assert all(text in sent["body"] for text in (*message().paragraphs, "https://go", "https://end"))
    for fault, failure in (
        (Fault(lose=True), Failure("RecruiterUnavailable", certain=False, down=True)),
        (Fault(status=500), Failure("RecruiterUnavailable", certain=False, down=True)),
        (Fault(status=401), Failure("RecruiterDenied", certain=True, again=True, down=True)),
    ):
        fake.faults.append(fault)
        assert channel.send(message()) == failure
    fake.submissions.clear()
    assert channel.send(message()) == Failure("RecruiterRejected", certain=True)


async def test_a_post_is_signed_and_says_no_more_than_it_needs(database: Database, tmp_path: Path) -> None:
    async with webhook() as hook:
        settings = settings_for(tmp_path, reminder_webhook_url=hook.url, reminder_webhook_secret=SECRET)
        channel = reminder_channels(settings, database, lambda: 1_700_000_000_000_000)["webhook"]
        assert await asyncio.to_thread(channel.send, message()) is None
        ((headers, body),) = hook.requests
        person = person_id({"person": "ab" * 16})
        kind = {"study": "weeks", "person": person, "wave": "week-2", "kind": "opening", "link": "https://go"}
        assert json.loads(body) == kind
        assert headers["parley-timestamp"] == "1700000000"
        signed = hmac.new(SECRET.encode(), b"1700000000." + body, hashlib.sha256).hexdigest()
        assert (headers["parley-signature"], headers["idempotency-key"]) == (signed, message().key)
        for status, failure in (
            (500, Failure("status_500", certain=False)),
            (503, Failure("status_503", certain=True, again=True, down=True)),
            (410, Failure("status_410", certain=True)),
        ):
            hook.status = status
            assert await asyncio.to_thread(channel.send, message()) == failure
    gone = await asyncio.to_thread(channel.send, message())
    assert gone == Failure("ConnectError", certain=True, again=True, down=True)


def test_a_post_without_a_key_for_its_signature_is_refused(database: Database, tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        reminder_channels(settings_for(tmp_path, reminder_webhook_url="https://x.example"), database, lambda: 0)
