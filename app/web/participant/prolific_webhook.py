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
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import orjson
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.clock import Clock
from app.config.settings import Settings
from app.errors import RecruiterError
from app.recruiters.prolific import STATUS_CHANGE, WEBHOOK, hook_secrets, signature
from app.single_flight import SingleFlight
from storage.db.engine import Database
from storage.payments.submissions import LIFE, OVER, Observation, observe, plain_status
from storage.registers.contacts import PROLIFIC
from storage.registers.participants import ParticipantId, Participants

MOST_BYTES = 16 * 1024
# How far the time of a request may be from ours.
WITHIN_S = 300
AGAIN_US = 60_000_000
# The codes of a wrong signature, and of any while no secret is known: Prolific sends the event again.
UNSIGNED, UNKNOWN = 401, 503
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


def read_event(
    secrets: Collection[str], headers: Mapping[str, str], body: bytes, now_us: int
) -> StatusChange | RefusedEvent:
    """Read a request to the webhook; `headers` are by their names in lower case."""
    sent, given = headers.get("x-prolific-request-timestamp", ""), headers.get("x-prolific-request-signature", "")
    if len(body) > MOST_BYTES:
        return RefusedEvent(413, "too large")
    signed = [hmac.compare_digest(signature(secret, sent, body).encode(), given.encode()) for secret in secrets]
    if not SECONDS.fullmatch(sent) or not any(signed):
        return RefusedEvent(UNSIGNED if secrets else UNKNOWN, "the signature is not Prolific's, or not known")
    if abs(now_us - float(sent) * 1e6) > WITHIN_S * 1e6:
        return RefusedEvent(UNSIGNED, "the request is too old, or one of the two clocks is wrong")
    key, at = headers.get("x-event-id", ""), headers.get("x-timestamp", sent)
    return _status_change(body, key, min(float(at), float(sent)) if SECONDS.fullmatch(at) else float(sent))


def _status_change(body: bytes, key: str, at_s: float) -> StatusChange | RefusedEvent:
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        said = None
    if not isinstance(said, dict) or not EVENT_ID.fullmatch(key):
        return RefusedEvent(400, "not an event of Prolific's")
    if said.get("event_type") != STATUS_CHANGE:
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
    """A webhook that reads our secrets with the first event, and if none signed one, at most once in AGAIN_US."""

    def __init__(self, settings: Settings, database: Database, participants: Participants, clock: Clock) -> None:
        self._settings, self._database, self._participants, self._clock = settings, database, participants, clock
        self._secrets: Collection[str] = ()
        self._read_us = 0
        self._reading: SingleFlight[None] = SingleFlight()

    def route(self) -> Route:
        return Route(WEBHOOK, self._take, methods=["POST"])

    async def _take(self, request: Request) -> Response:
        body, now_us = await request.body(), self._clock.now_us()
        found = read_event(self._secrets, request.headers, body, now_us)
        if isinstance(found, RefusedEvent) and found.code in (UNSIGNED, UNKNOWN) and self._read_us + AGAIN_US <= now_us:
            await self._reading.get(self._read_secrets)
            found = read_event(self._secrets, request.headers, body, now_us)
        if isinstance(found, RefusedEvent):
            return PlainTextResponse(found.why, found.code)
        await asyncio.to_thread(self._keep, found)
        return PlainTextResponse("kept")

    async def _read_secrets(self) -> None:
        try:
            self._secrets = await asyncio.to_thread(hook_secrets, self._settings)
        except RecruiterError as error:
            log.warning("failed to read the secrets of Prolific's webhook: %s", error)
        self._read_us = self._clock.now_us()

    def _keep(self, change: StatusChange) -> None:
        mark = self._participants.submission_mark(PROLIFIC, change.participant.submission)
        seen = Observation(mark, change.status, change.at_us, "webhook", change.key)
        sessions = self._participants.sessions_of(change.participant) if change.status in OVER else {}
        observe(self._database, PROLIFIC, [seen], sessions, self._clock.now_us())
