"""What is kept so that only the deployment's secret opens it: Fernet (AES-128-CBC with HMAC-SHA-256).

cryptography takes 7 MB and is imported with the first use: many servers seal nothing.
"""

from __future__ import annotations

import base64
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from cryptography.fernet import Fernet


class Seal:
    """Of one purpose: what was sealed for another cannot be opened."""

    def __init__(self, secret: str, purpose: str) -> None:
        self._key = base64.urlsafe_b64encode(sha256(f"{purpose}:{secret}".encode()).digest())

    @cached_property
    def _fernet(self) -> Fernet:
        from cryptography.fernet import Fernet

        return Fernet(self._key)

    def close(self, value: object) -> bytes:
        return self._fernet.encrypt(orjson.dumps(value))

    def open(self, sealed: bytes) -> Any:
        """The value; None if it was sealed under another secret or for another purpose."""
        from cryptography.fernet import InvalidToken

        try:
            return orjson.loads(self._fernet.decrypt(sealed))
        except InvalidToken:
            return None
