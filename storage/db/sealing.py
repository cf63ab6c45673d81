"""Seal data so that only the deployment's secret opens them: Fernet (AES-128-CBC with HMAC-SHA-256).

cryptography takes 7 MB and is imported with the first use: many servers seal nothing.
"""

from __future__ import annotations

import base64
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from cryptography.fernet import Fernet


def _fernet(secret: str, purpose: str) -> Fernet:
    from cryptography.fernet import Fernet

    return Fernet(base64.urlsafe_b64encode(sha256(f"{purpose}:{secret}".encode()).digest()))


def seal(secret: str, purpose: str, value: object) -> bytes:
    return _fernet(secret, purpose).encrypt(orjson.dumps(value))


def unseal(secret: str, purpose: str, sealed: bytes) -> Any:
    """The value; None if it was sealed under another secret or for another purpose."""
    from cryptography.fernet import InvalidToken

    try:
        return orjson.loads(_fernet(secret, purpose).decrypt(sealed))
    except InvalidToken:
        return None
