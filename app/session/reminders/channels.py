"""The channels of reminders, and their failures.

`certain`: nothing went out. `again`: a further attempt may succeed. A failure of which neither is known counts as sent.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import httpx2
import orjson

from app.backends.wire.http_client import connection_to
from app.session.reminders.message import ReminderMessage

WITHIN_S = 15.0
TOO_MANY, UNAVAILABLE, SERVER_ERROR = 429, 503, 500


@dataclass(frozen=True, slots=True)
class Failure:
    """`cause` is a code, without text of a server, which may hold the address. `down`: nobody can be sent anything."""

    cause: str
    certain: bool
    again: bool = False
    down: bool = False


class ReminderChannel(Protocol):
    """A channel of reminders; its methods block."""

    def open(self) -> None:
        """Make the connection, where there is one. Raises NotDelivered; then nothing is sent by it for now."""

    def send(self, message: ReminderMessage) -> Failure | None: ...

    def close(self) -> None: ...


class SilentChannel:
    """Sends nothing, for simulated participants."""

    def open(self) -> None: ...

    def send(self, message: ReminderMessage) -> Failure | None:
        return None

    def close(self) -> None: ...


class WebhookChannel:
    """Posts {study, person, wave, kind, link}. `Parley-Signature` is the hexadecimal HMAC-SHA-256 under the secret of
    the header `Parley-Timestamp`, a dot and the body."""

    def __init__(self, url: str, secret: str, now_us: Callable[[], int]) -> None:
        self._url, self._secret, self._now_us = url, secret.encode(), now_us

    def open(self) -> None: ...

    def send(self, message: ReminderMessage) -> Failure | None:
        body, timestamp = orjson.dumps(message.facts), str(self._now_us() // 1_000_000)
        signature = hmac.new(self._secret, f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
        headers = {"content-type": "application/json", "user-agent": "parley", "idempotency-key": message.key}
        headers |= {"parley-timestamp": timestamp, "parley-signature": signature}
        try:
            with httpx2.Client(timeout=WITHIN_S, **connection_to(self._url)) as client:
                status = client.post(self._url, content=body, headers=headers).status_code
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            return Failure(type(error).__name__, certain=True, again=True, down=True)
        except (httpx2.HTTPError, OSError) as error:
            return Failure(type(error).__name__, certain=False)
        if status < 300:
            return None
        busy = status in (TOO_MANY, UNAVAILABLE)
        return Failure(f"status_{status}", certain=busy or status < SERVER_ERROR, again=busy, down=busy)

    def close(self) -> None: ...
