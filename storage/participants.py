"""Who somebody is to a recruiter: kept apart from the log, found by a keyed digest, readable only with the secret.

A digest (HMAC-SHA-256 under the deployment's secret) finds the same person again; the id itself is sealed with Fernet
for the payment files alone. Neither is in the log or in an export.
"""

from __future__ import annotations

import base64
import hmac
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from sqlalchemy import Engine, select

from storage import tables
from storage.errors import StorageError


@dataclass(frozen=True, slots=True)
class Person:
    """An id that a recruiter gave, such as Prolific's PROLIFIC_PID."""

    recruiter: str
    id: str


class Participants:
    """The table of identities, under the deployment's secret."""

    def __init__(self, engine: Engine, secret: str) -> None:
        self._engine = engine
        self._secret = secret.encode()
        self._fernet = Fernet(base64.urlsafe_b64encode(sha256(b"parley identity:" + self._secret).digest()))

    def entry(self, study: str, person: Person) -> dict[str, Any]:
        """What is stored for a person: recruiter, digest and the sealed id."""
        return {
            "recruiter": person.recruiter,
            "digest": self._digest(study, person),
            "sealed": self._fernet.encrypt(person.id.encode()),
        }

    def find(self, study: str, person: Person) -> str | None:
        """The stream of a person's session in a study; None if there is none."""
        t = tables.identities.c
        with self._engine.connect() as connection:
            return connection.execute(
                select(t.stream).where(t.study == study, t.digest == self._digest(study, person))
            ).scalar()

    def reveal(self, stream: str) -> Person | None:
        """The person behind a session, for payment; None for who came without an id, or withdrew: theirs is erased.

        Raises StorageError if it was sealed under another secret.
        """
        t = tables.identities.c
        with self._engine.connect() as connection:
            found = connection.execute(select(t.recruiter, t.sealed).where(t.stream == stream)).first()
        if found is None or not found.sealed:
            return None
        try:
            return Person(found.recruiter, self._fernet.decrypt(found.sealed).decode())
        except InvalidToken:
            raise StorageError(
                "the recruiters' ids cannot be read: they were sealed under another secret than PARLEY_SECRET (or the "
                "file .secret beside the database) is now. Use the one with which the study was served"
            ) from None

    def _digest(self, study: str, person: Person) -> str:
        return hmac.new(self._secret, f"{study}\n{person.recruiter}\n{person.id}".encode(), sha256).hexdigest()
