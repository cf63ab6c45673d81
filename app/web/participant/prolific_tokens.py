"""Verifies Prolific's proof of an id: the JWT that Prolific adds to a study's address as `prolific_token`.

Prolific calls it the secure external URL. The token is signed by RS256 with a key of Prolific's public set, and issued
by www.prolific.com for the address of this server (`aud`). Its claim `prolific` has the values of PROLIFIC_PID,
STUDY_ID and SESSION_ID in the study's address, and the study's workspace. The workspace must be one of ours, because
any researcher at Prolific can put this server and anyone's id into the address of a study of their own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2

from app.backends.wire.http_client import proxy_of, trusted
from app.config.settings import Settings
from app.single_flight import SingleFlight

if TYPE_CHECKING:
    import jwt

ISSUER = "https://www.prolific.com"
ALGORITHM = "RS256"
WITHIN_S = 5.0
# How long the key set is used before it is fetched again. Prolific recommends to fetch it daily.
FRESH_S = 24 * 3600.0
# The shortest time between two fetches of the key set, even if tokens have unknown keys.
AGAIN_S = 60.0
LEEWAY_S = 30.0
MOST_CHARS = 8_000
log = logging.getLogger(__name__)


class KeysUnavailable:
    """The result for a token whose key cannot be fetched at the moment."""


class ProlificTokens:
    def __init__(self, settings: Settings) -> None:
        self._keys_at = settings.prolific_jwks
        self._workspaces = frozenset(filter(None, map(str.strip, settings.prolific_workspaces.split(","))))
        self._proxy = proxy_of(self._keys_at) if self._workspaces else None
        self._here = _origin(settings.address)
        self._keys: Mapping[str, jwt.PyJWK] = {}
        self._looked_s = float("-inf")
        self._had_s = float("-inf")
        self._looking: SingleFlight[None] = SingleFlight()

    @property
    def believed(self) -> bool:
        return bool(self._workspaces)

    async def read(self, token: str) -> Mapping[str, str] | KeysUnavailable:
        """The ids by parameter; none if the token is invalid, expired or for another server or workspace."""
        import jwt  # most servers never see a token

        try:
            kid = str(jwt.get_unverified_header(token).get("kid")) if len(token) <= MOST_CHARS else ""
        except jwt.InvalidTokenError:
            return {}
        key = await self._key(kid)
        if key is None:
            return KeysUnavailable() if kid and not self._keys else {}
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                issuer=ISSUER,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"], "verify_aud": False},  # it is an address: see below
            )
        except (jwt.InvalidTokenError, TypeError, OverflowError):  # the last two of a claim of another type
            return {}
        return self._ids_in(claims)

    def _ids_in(self, claims: Mapping[str, Any]) -> Mapping[str, str]:
        audience, ids = claims["aud"], claims.get("prolific")
        meant = audience if isinstance(audience, list) else [audience]
        if self._here not in map(_origin, map(str, meant)) or not isinstance(ids, dict):
            return {}
        texts = {name: value for name, value in ids.items() if isinstance(value, str)}
        return texts if texts.get("workspace_id") in self._workspaces else {}

    async def _key(self, kid: str) -> jwt.PyJWK | None:
        now_s = time.monotonic()
        wanted = kid not in self._keys or now_s > self._had_s + FRESH_S
        if kid and wanted and now_s > self._looked_s + AGAIN_S:
            await self._looking.get(self._fetch_keys)
        return self._keys.get(kid)

    async def _fetch_keys(self) -> None:
        """Fetch the key set. If that fails, the previous one stays in use."""
        import jwt

        try:
            async with asyncio.timeout(WITHIN_S):
                document = json.loads(await _text(self._keys_at, self._proxy))
            keys = jwt.PyJWKSet.from_dict(document if isinstance(document, dict) else {}).keys
        except (OSError, TimeoutError, ValueError, httpx2.HTTPError, jwt.PyJWTError) as error:
            log.error("Prolific's keys cannot be read at %s: %s", self._keys_at, str(error) or type(error).__name__)
        else:
            self._keys = {key.key_id: key for key in keys if key.key_id}
            self._had_s = time.monotonic()
        self._looked_s = time.monotonic()


async def _text(place: str, proxy: str | None) -> str:
    if "://" not in place:
        return await asyncio.to_thread(Path(place).read_text, encoding="utf-8")
    tls = await asyncio.to_thread(trusted)
    async with httpx2.AsyncClient(trust_env=False, timeout=WITHIN_S, proxy=proxy, verify=tls) as client:
        return (await client.get(place)).raise_for_status().text


def _origin(address: str) -> tuple[str, int | None]:
    """The host and port of an address. Prolific's `aud` is either an origin or the study's complete address."""
    try:
        parts = urlsplit(address if "://" in address else f"https://{address}")
        return parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return "", None
