"""The client against the fake: every request that Parley makes of Prolific, and every error."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Iterator

import httpx2
import pytest

from app.errors import RecruiterDenied, RecruiterError, RecruiterRejected, RecruiterUnavailable
from app.recruiters import prolific
from app.recruiters.prolific import CompletionCode, Prolific, ProlificStudy, StudyDraft, signature
from tests.fakes.http_server import Fault
from tests.fakes.prolific_api import ROUTES, TOKEN, WORKSPACE, FakeProlific, prolific_api

DRAFT = StudyDraft(
    name="A study",
    internal_name="small abc",
    description="About models",
    external_study_url="https://lab.example.org/s/small?PROLIFIC_PID={{%PROLIFIC_PID%}}",
    completion_codes=(
        CompletionCode(code="DONE", code_type="COMPLETED", actions=({"action": "MANUALLY_REVIEW"},)),
        CompletionCode(
            code="OUT",
            code_type="FIXED_SCREENOUT",
            actions=({"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": 20, "slots": 5},),
        ),
    ),
    total_available_places=3,
    estimated_completion_time=10,
    reward=150,
)
LONG = "The answers to all three attention checks were other than those that the instructions above them asked for."


@pytest.fixture
def fake() -> Iterator[FakeProlific]:
    with prolific_api(page=2) as served:
        yield served


@pytest.fixture
def client(fake: FakeProlific) -> Iterator[Prolific]:
    with Prolific(fake.url, TOKEN, sleep=lambda _: None) as made:
        yield made


def published(client: Prolific) -> ProlificStudy:
    return client.transition_study(client.create_study(DRAFT).id, "PUBLISH")


def test_submissions_are_decided_once(client: Prolific, fake: FakeProlific) -> None:
    study = published(client).id
    ids = [fake.join(study) for _ in range(3)]
    fake.give_back(ids[0])
    fake.submit(ids[1], "OUT")
    ids += [fake.join(study), fake.join(study)]
    fake.time_out(ids[2])
    ids.append(fake.join(study))
    for id_ in ids[3:5]:
        fake.submit(id_, "DONE")

    found = client.submissions(study)
    assert [one.id for one in found] == ids, "all pages, in their order"
    assert [one.status for one in found] == [
        *("RETURNED", "SCREENED OUT", "TIMED OUT", "AWAITING REVIEW", "AWAITING REVIEW", "ACTIVE"),
    ]
    assert fake.submissions[ids[1]]["reward"] == 20
    for _ in "twice":
        client.approve([ids[3]])
        client.reject(ids[4], LONG, "FAILED_CHECK")
    assert [client.submission(id_).status for id_ in ids[3:]] == ["APPROVED", "REJECTED", "ACTIVE"]
    fake.submissions[ids[3]]["bonus_payments"] = [12.5, 30.0]
    assert [len(one.bonus_cents) for one in client.submissions(study)] == [0, 0, 0, 2, 0, 0]
    for message, category in (("short", "FAILED_CHECK"), (LONG, "NO_SUCH")):
        with pytest.raises(RecruiterRejected):
            client.reject(ids[4], message, category)
    with pytest.raises(RecruiterRejected):
        client.reject(ids[3], LONG, "OTHER")
    with pytest.raises(RecruiterRejected) as missing:
        client.study("no/such?study")
    assert missing.value.status == 404


def test_a_study_pauses_when_its_screen_outs_are_used_up(client: Prolific, fake: FakeProlific) -> None:
    study = published(client).id
    for number in range(5):
        assert client.study(study).status == "ACTIVE", number
        fake.submit(fake.join(study), "OUT")
    assert client.study(study).status == "PAUSED"


def test_a_place_is_taken_from_its_reservation_on(client: Prolific, fake: FakeProlific) -> None:
    study = published(client).id
    left = fake.reserve(study)
    assert (client.submission(left).status, client.study(study).places_taken) == ("RESERVED", 1)
    fake.give_back(left)
    assert (client.submission(left).status, client.study(study).places_taken) == ("RETURNED", 0)


def test_events_come_signed_to_a_confirmed_subscription(client: Prolific, fake: FakeProlific) -> None:
    with pytest.raises(RecruiterRejected):
        client.subscribe("submission.status.change", "https://lab.example.org/hooks", WORKSPACE)
    secret = client.create_hook_secret(WORKSPACE)
    assert client.hook_secrets(WORKSPACE)[0].value == secret.value
    assert secret.value not in repr(secret)
    made = client.subscribe("submission.status.change", "https://lab.example.org/hooks", WORKSPACE)
    assert made.is_enabled
    assert client.subscriptions(WORKSPACE) == (made,)
    fake.reserve(published(client).id)
    (event,) = fake.outbox
    stamp = event.headers["x-prolific-request-timestamp"]
    assert event.headers["x-prolific-request-signature"] == signature(secret.value, stamp, event.body)
    assert event.headers["x-prolific-request-signature"] != signature(secret.value, stamp, event.body + b" ")


@pytest.mark.parametrize(
    ("fault", "kind", "uncertain"),
    [
        (Fault(status=429, headers={"retry-after": "7"}), None, False),
        (Fault(status=429, headers={"retry-after": "86400"}), RecruiterUnavailable, False),
        (Fault(status=503), RecruiterUnavailable, True),
        (Fault(hang=True), RecruiterUnavailable, True),
        (Fault(lose=True), RecruiterUnavailable, True),
    ],
    ids=["busy", "busy for a day", "broken", "silent", "answer lost"],
)
def test_what_changes_something_is_repeated_only_if_it_was_not_carried_out(
    fake: FakeProlific, fault: Fault, kind: type[RecruiterError] | None, uncertain: bool
) -> None:
    pauses: list[float] = []
    timeout = httpx2.Timeout(30, read=0.5 if fault.hang else 30)
    with Prolific(fake.url, TOKEN, sleep=pauses.append, timeout=timeout) as client:
        fake.faults.append(fault)
        if kind is None:
            client.create_study(DRAFT)
            assert pauses == [7]
        else:
            with pytest.raises(kind) as error:
                client.create_study(DRAFT)
            assert isinstance(error.value, RecruiterUnavailable)
            assert (error.value.uncertain, pauses) == (uncertain, [])
        assert len(fake.studies) == (kind is None or fault.lose)
        fake.faults.append(fault)
        if fault.headers.get("retry-after") != "86400":
            client.studies()  # a read is repeated after each of them


def test_whose_move_it_is_and_no_error_has_the_token(fake: FakeProlific) -> None:
    wrong = "another-token-that-nobody-may-see"
    with Prolific(fake.url, wrong) as client, pytest.raises(RecruiterDenied) as denied:
        client.account()
    assert wrong not in "".join(traceback.format_exception(denied.value))
    assert wrong not in repr(client)
    with Prolific(fake.url, TOKEN) as client, pytest.raises(RecruiterDenied):
        client.balance("another workspace")
    with Prolific("http://127.0.0.1:9", TOKEN, sleep=lambda _: None) as client:
        with pytest.raises(RecruiterUnavailable) as away:
            client.create_study(DRAFT)
        assert not away.value.uncertain, "nothing was sent"


def test_each_route_of_the_fake_is_one_that_the_client_uses(fake: FakeProlific) -> None:
    """So that the fake does not grow what nobody asks for; the other way round the tests above would fail."""
    source = re.sub(r"\{[^}]*\}", "*", inspect.getsource(prolific))
    missing = [route for route in ROUTES if f'"{route.partition(" ")[2]}"' not in source]
    assert missing == []
