"""Prolific's webhook: what is believed, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest

from app.web.participant.prolific_webhook import MOST_BYTES, WITHIN_S, RefusedEvent, StatusChange, read_event
from storage.registers.participants import ParticipantId

SECRET, NOW_S = "hook-secret", 1_790_000_000
SAID = {
    "event_type": "submission.status.change",
    "resource_id": "66b1",
    "participant_id": "5f3a",
    "status": "TIMED-OUT",
    "é": 1,
}
BODY = json.dumps(SAID).encode()


def headers(body: bytes = BODY, sent: str = f"{NOW_S}", secret: str = SECRET, **more: str) -> dict[str, str]:
    """As Prolific signs: its own formula, over the bytes that it sends."""
    signed = base64.b64encode(hmac.new(secret.encode(), sent.encode() + body, hashlib.sha256).digest()).decode()
    names = {"signature": "x-prolific-request-signature", "event": "x-event-id", "at": "x-timestamp"}
    given = {"x-prolific-request-timestamp": sent, "x-prolific-request-signature": signed, "x-event-id": "e-1"}
    return given | {names[name]: value for name, value in more.items()}


def code_of(given: dict[str, str], body: bytes, now_s: int) -> int:
    found = read_event(["another", SECRET], given, body, now_s * 1_000_000)
    assert isinstance(found, RefusedEvent)
    return found.code


@pytest.mark.parametrize(
    "body", [BODY, json.dumps(SAID, separators=(",", ":")).encode(), json.dumps(SAID, indent=1).encode()]
)
def test_the_bytes_are_signed_however_they_are_spaced(body: bytes) -> None:
    known = read_event(["another", SECRET], headers(body, at=f"{NOW_S - 7}.5"), body, NOW_S * 1_000_000)
    person = ParticipantId("prolific", "5f3a", "66b1")
    assert known == StatusChange(person, "TIMED OUT", NOW_S * 1_000_000 - 6_500_000, "e-1")


@pytest.mark.parametrize("at", [f"{NOW_S + 60}", f"{NOW_S}000", "soon", "", "9" * 40])
def test_what_is_not_signed_makes_no_event_newer(at: str) -> None:
    known = read_event(["another", SECRET], headers(at=at), BODY, NOW_S * 1_000_000)
    assert isinstance(known, StatusChange)
    assert known.at_us == NOW_S * 1_000_000


@pytest.mark.parametrize("late_s", [-WITHIN_S - 1, WITHIN_S + 1])
def test_old_and_early_requests_are_refused(late_s: int) -> None:
    assert code_of(headers(), BODY, NOW_S + late_s) == 401


@pytest.mark.parametrize(
    ("given", "body", "code"),
    [
        (headers(secret="other"), BODY, 401),
        (headers(), BODY.replace(b"TIMED-OUT", b"APPROVED"), 401),
        (headers(), json.dumps(SAID, separators=(",", ":")).encode(), 401),
        (headers(signature=""), BODY, 401),
        (headers(signature="é"), BODY, 401),
        ({}, BODY, 401),
        (headers(sent="now"), BODY, 401),
        (headers(sent="nan"), BODY, 401),
        (headers(b"[1]"), b"[1]", 400),
        (headers(b"\xff{"), b"\xff{", 400),
        (headers(event="a b"), BODY, 400),
        (headers(event="a" * 65), BODY, 400),
        (headers(b" " * (MOST_BYTES + 1)), b" " * (MOST_BYTES + 1), 413),
        (headers(other := json.dumps({**SAID, "participant_id": 7}).encode()), other, 400),
        (headers(other := json.dumps({**SAID, "event_type": "study.status.change"}).encode()), other, 200),
        (headers(other := json.dumps({**SAID, "status": "ASLEEP"}).encode()), other, 200),
    ],
)
def test_what_is_not_prolifics_or_says_nothing_is_not_kept(given: dict[str, str], body: bytes, code: int) -> None:
    assert code_of(given, body, NOW_S) == code


def test_while_no_secret_is_known_prolific_is_to_come_again() -> None:
    found = read_event([], headers(), BODY, NOW_S * 1_000_000)
    assert isinstance(found, RefusedEvent)
    assert found.code == 503
