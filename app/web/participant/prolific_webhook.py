"""Prolific's webhook: what it says of a submission, kept if Prolific signed it.

The signature is over the time of the request and the raw body, and over no other header. So a copy of a request is of
use for WITHIN_S alone, and says nothing newer than that time: an `X-Timestamp`, by which events are ordered, counts no
later than it. `X-Event-ID` is the key under which the log takes an event once.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.clock import Clock
from app.config.settings import Settings
from app.recruiters.prolific import signature
from storage.db.engine import Database
from storage.payments.prolific import PROLIFIC
from storage.payments.submission_log import observe
from storage.payments.submissions import LIFE, Observation, plain_status
from storage.registers.participants import ParticipantId, Participants

PATH = "/hook/prolific"
MOST_BYTES = 16 * 1024
# How far the time of a request may be from ours.
WITHIN_S = 300
CHANGE = "submission.status.change"
EVENT_ID = re.compile(r"[\w.:-]{1,64}")
SECONDS = re.compile(r"\d{1,11}(\.\d{1,9})?")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StatusChange:
    participant: ParticipantId
    status: str
    at_us: int
    key: str


@dataclass(frozen=True, slots=True)
class RefusedEvent:
    """An answer to a webhook of which nothing is kept; below 400 there is no need of it."""

    code: int
    why: str


def read_event(secret: str, headers: Mapping[str, str], body: bytes, now_us: int) -> StatusChange | RefusedEvent:
    """What a request to the webhook says; `headers` by their names in lower case."""
    sent, given = headers.get("x-prolific-request-timestamp", ""), headers.get("x-prolific-request-signature", "")
    if len(body) > MOST_BYTES:
        return RefusedEvent(413, "too large")
    if not SECONDS.fullmatch(sent) or not hmac.compare_digest(signature(secret, sent, body).encode(), given.encode()):
        return RefusedEvent(401, "the signature is not Prolific's")
    if abs(now_us - float(sent) * 1e6) > WITHIN_S * 1e6:
        return RefusedEvent(401, "the request is too old, or one of the two clocks is wrong")
    key, at = headers.get("x-event-id", ""), headers.get("x-timestamp", sent)
    return _status_change(body, key, min(float(at), float(sent)) if SECONDS.fullmatch(at) else float(sent))


def _status_change(body: bytes, key: str, at_s: float) -> StatusChange | RefusedEvent:
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        said = None
    if not isinstance(said, dict) or not EVENT_ID.fullmatch(key):
        return RefusedEvent(400, "not an event of Prolific's")
    if said.get("event_type") != CHANGE:
        return RefusedEvent(200, "nothing to keep")
    submission, participant, status = (said.get(name) for name in ("resource_id", "participant_id", "status"))
    if not (isinstance(submission, str) and isinstance(participant, str) and isinstance(status, str) and submission):
        return RefusedEvent(400, "not an event of Prolific's")
    if plain_status(status) not in LIFE:
        log.warning("Prolific's webhook names a status that Parley does not know: %.40r", status)
        return RefusedEvent(200, "nothing to keep")
    person = ParticipantId(PROLIFIC, participant, submission)
    return StatusChange(person, plain_status(status), round(at_s * 1e6), key)


class ProlificWebhook:
    """Without a secret in the settings there is no webhook."""

    def __init__(self, settings: Settings, database: Database, participants: Participants, clock: Clock) -> None:
        secret = settings.prolific_webhook_secret
        self._secret = secret.get_secret_value() if secret else None
        self._database, self._participants, self._clock = database, participants, clock

    def route(self) -> Route:
        return Route(PATH, self._take, methods=["POST"])

    async def _take(self, request: Request) -> Response:
        if self._secret is None:
            return PlainTextResponse("there is no webhook", 404)
        found = read_event(self._secret, request.headers, await request.body(), self._clock.now_us())
        if isinstance(found, RefusedEvent):
            return PlainTextResponse(found.why, found.code)
        await asyncio.to_thread(self._keep, found)
        return PlainTextResponse("kept")

    def _keep(self, change: StatusChange) -> None:
        mark = self._participants.submission_mark(PROLIFIC, change.participant.submission)
        seen = Observation(mark, change.status, change.at_us, "webhook", change.key)
        sessions = self._participants.sessions_of(change.participant)
        observe(self._database, PROLIFIC, [seen], sessions, self._clock.now_us())
