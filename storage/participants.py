"""Who somebody is to a recruiter: kept apart from the log, found by a keyed digest, readable only with the secret.

A digest (HMAC-SHA-256 under the deployment's secret) finds the same person again; what the recruiter calls them is
sealed with Fernet for the payment files alone. Neither is in the log or in an export. Where a study lets people come
again, each attempt has a digest of its own. Who withdrew leaves the digest; there is nothing to unseal any more.
"""

from __future__ import annotations

import base64
import hmac
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson
from cryptography.fernet import Fernet, InvalidToken
from sqlalchemy import Engine, select, update

from storage import tables
from storage.engine import writer
from storage.errors import StorageError

MOST_ATTEMPTS = 20
MAC_BYTES = 16
"""128 bits of a personal link's mark."""


@dataclass(frozen=True, slots=True)
class Person:
    """An id that a recruiter gave, such as Prolific's PROLIFIC_PID, and what it calls this submission, if anything."""

    recruiter: str
    id: str
    submission: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """A person's session in a study: that of the submission they come with, or else the newest, and not the `same`.

    `attempt` is how often they have begun.
    """

    stream: str
    attempt: int
    same: bool


class Participants:
    """The table of identities, under the deployment's secret."""

    def __init__(self, engine: Engine, secret: str) -> None:
        self._engine = engine
        self._secret = secret.encode()
        self._fernet = Fernet(base64.urlsafe_b64encode(sha256(b"parley identity:" + self._secret).digest()))

    def entry(self, study: str, person: Person, attempt: int = 1) -> dict[str, Any]:
        """What is stored for a person: recruiter, digest and the sealed id."""
        digest = self._digest(study, person, attempt)
        return {"recruiter": person.recruiter, "digest": digest, "sealed": self._seal(person)}

    def known(self, study: str, person: Person) -> Known | None:
        """A person's session in a study; None if there is none. Without a submission any is the same."""
        t = tables.identities.c
        digests = [self._digest(study, person, attempt) for attempt in range(1, MOST_ATTEMPTS + 1)]
        with self._engine.connect() as connection:
            query = select(t.stream, t.digest).where(t.study == study, t.digest.in_(digests))
            found = {digests.index(row.digest): row.stream for row in connection.execute(query)}
        if not found:
            return None
        last = max(found)
        submissions = {attempt: self._submission(stream) for attempt, stream in found.items()}
        same = [attempt for attempt, told in submissions.items() if told == person.submission]
        if same:
            return Known(found[max(same)], last + 1, same=True)
        other = bool(person.submission) and submissions[last] is not None
        return Known(found[last], last + 1, same=not other)

    def sessions(self, study: str, person: Person) -> list[str]:
        """The streams of all of a person's sessions in a study."""
        t = tables.identities.c
        digests = [self._digest(study, person, attempt) for attempt in range(1, MOST_ATTEMPTS + 1)]
        with self._engine.connect() as connection:
            return list(connection.execute(select(t.stream).where(t.study == study, t.digest.in_(digests))).scalars())

    def called(self, study: str, id_: str) -> tuple[str, ...]:
        """The streams of whom any recruiter calls by an id. That somebody asked is for the caller to write down."""
        with self._engine.connect() as connection:
            recruiters = connection.execute(select(tables.identities.c.recruiter).distinct()).scalars().all()
        return tuple(stream for recruiter in recruiters for stream in self.sessions(study, Person(recruiter, id_)))

    def find(self, study: str, person: Person) -> str | None:
        """The stream of a person's newest session in a study; None if there is none."""
        found = self.known(study, person)
        return found.stream if found else None

    def renew(self, stream: str, person: Person) -> None:
        """Keep that a person who goes on has another submission now: it is the one to be paid."""
        t = tables.identities
        with writer(self._engine) as connection, connection.begin():
            kept = update(t).where(t.c.stream == stream, t.c.sealed != b"")
            connection.execute(kept.values(sealed=self._seal(person)))

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
            told = self._fernet.decrypt(found.sealed).decode()
        except InvalidToken:
            raise StorageError(
                "the recruiters' ids cannot be read: they were sealed under another secret than PARLEY_SECRET (or the "
                "file .secret beside the database) is now. Use the one with which the study was served"
            ) from None
        if not told.startswith("{"):  # as it was sealed before there were submissions
            return Person(found.recruiter, told)
        values = orjson.loads(told)
        return Person(found.recruiter, values["id"], values["submission"])

    def _submission(self, stream: str) -> str | None:
        """What the recruiter called a session's submission; None for who withdrew."""
        person = self.reveal(stream)
        return person.submission if person else None

    def link(self, study: str, label: str) -> str:
        """The secret part of a personal link for somebody who is called `label`: nobody else can make one."""
        return f"{label}.{self._mac(study, label)}"

    def labelled(self, study: str, token: str) -> str | None:
        """Whose personal link it is; None if we did not make it."""
        label, _, mac = token.rpartition(".")
        return label if label and hmac.compare_digest(mac.encode(), self._mac(study, label).encode()) else None

    def _mac(self, study: str, label: str) -> str:
        made = hmac.new(self._secret, f"link\n{study}\n{label}".encode(), sha256).digest()[:MAC_BYTES]
        return base64.urlsafe_b64encode(made).decode().rstrip("=")

    def _seal(self, person: Person) -> bytes:
        return self._fernet.encrypt(orjson.dumps({"id": person.id, "submission": person.submission}))

    def _digest(self, study: str, person: Person, attempt: int) -> str:
        again = f"\nattempt {attempt}" if attempt > 1 else ""
        said = f"{study}\n{person.recruiter}\n{person.id}{again}"
        return hmac.new(self._secret, said.encode(), sha256).hexdigest()
