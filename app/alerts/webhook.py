"""Alerts posted to a URL as JSON, signed as Standard Webhooks says.

Source of the signature: https://github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md, "Webhook
headers" and "Symmetric": base64 of HMAC-SHA256 over `webhook-id.webhook-timestamp.body`, after `v1,`.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from base64 import b64decode, b64encode

import httpx2
import orjson

from app.alerts.lifecycle import Notice
from app.alerts.text import as_json
from app.backends.wire.http_client import proxy_of, trusted
from app.config.settings import WEBHOOK_KEY, Settings
from app.errors import NotDelivered

WITHIN_S = 10.0
MOST_CHARS = 200
"""Of a server's answer so much is quoted."""


class Webhook:
    """A URL to which alerts are posted."""

    name = "webhook"

    def __init__(self, settings: Settings) -> None:
        assert settings.alert_webhook_url is not None  # noqa: S101  (the channel is made only where it is set)
        self._url = settings.alert_webhook_url.get_secret_value()
        secret = settings.alert_webhook_secret
        self._key = b64decode(secret.get_secret_value().removeprefix(WEBHOOK_KEY)) if secret else None
        self._console = settings.console_address
        self._proxy = proxy_of(self._url)
        for name in ("httpx2", "httpcore2"):  # below it they log addresses
            logging.getLogger(name).setLevel(logging.WARNING)

    async def send(self, notice: Notice) -> str:
        """Post a message; an answer of 2xx is success. No redirect is followed."""
        content = orjson.dumps(as_json(notice, self._console))
        try:
            async with await asyncio.to_thread(self._client) as client:
                answer = await client.post(self._url, content=content, headers=self._headers(notice, content))
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:  # its text may have the URL, which is secret
            raise NotDelivered(f"no answer ({type(error).__name__})") from None
        text = " ".join(answer.text[:MOST_CHARS].split())
        said = f"{answer.status_code} {answer.reason_phrase}{f': {text}' if text else ''}".replace(self._url, "***")
        if not answer.is_success:
            raise NotDelivered(f"it answered {said}")
        return said

    def _client(self) -> httpx2.AsyncClient:
        """A client; made outside of the event loop, because reading the machine's certificates takes 50 ms."""
        return httpx2.AsyncClient(trust_env=False, timeout=WITHIN_S, proxy=self._proxy, verify=trusted())

    def _headers(self, notice: Notice, content: bytes) -> dict[str, str]:
        """The headers; a message has the same `webhook-id` each time that it is tried."""
        alert, seconds = notice.alert, str(int(time.time()))
        id_ = f"alert_{alert.opened_us}_{alert.id}_{notice.state}_{alert.notified_us}"
        found = {
            "content-type": "application/json",
            "user-agent": "parley",
            "webhook-id": id_,
            "webhook-timestamp": seconds,
        }
        if self._key is not None:
            signed = hmac.digest(self._key, b".".join((id_.encode(), seconds.encode(), content)), "sha256")
            found["webhook-signature"] = f"v1,{b64encode(signed).decode()}"
        return found
