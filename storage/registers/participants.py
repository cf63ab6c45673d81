"""Who somebody is to a recruiter: kept apart from the log, found by a keyed digest, readable only with the secret.

A digest (HMAC-SHA-256 under the deployment's secret) finds the same person again; what the recruiter calls them is
sealed with Fernet for the payment files alone. Neither is in the log or in an export. Where a study lets people come
again, each attempt has a digest of its own. Who withdrew leaves the digest; there is nothing to unseal any more.

Only a proven id (links.py) leads to a session. A session that begins under an id without a proof has a digest of its
own, numbered after the others of that id: researchers find it by the id, and whoever comes by the id does not.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson
from cryptography.fernet import Fernet, InvalidToken
from sqlalchemy import Engine, case, select, update

from storage import tables
from storage.db.engine import writer
from storage.errors import StorageError

_identity = tables.identities.c
MOST_ATTEMPTS = 20
MOST_GAP = 64
AT_ONCE = 500
"""So many digests are looked for in one query."""
MAC_BYTES = 16
"""128 bits of a personal or signed link's mark."""


@dataclass(frozen=True, slots=True)
class ParticipantId:
    """An id that a recruiter gave, such as Prolific's PROLIFIC_PID, and what it calls this submission, if anything."""

    recruiter: str
    id: str
    submission: str = ""


@dataclass(frozen=True, slots=True)
class ReturningParticipant:
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

    def entry(self, study: str, person: ParticipantId, number: int = 1, *, proven: bool = True) -> dict[str, Any]:
        """What is stored for a person: recruiter, digest and the sealed id. `number` counts a proven person's attempts,
        or all sessions that began under an id without a proof."""
        digest = self._digest(study, person, number, proven=proven)
        return {"recruiter": person.recruiter, "digest": digest, "sealed": self._seal(person)}

    def known(self, study: str, person: ParticipantId) -> ReturningParticipant | None:
        """The session in a study of a person whose id is proven; None if there is none. Without a submission any is the
        same. What began under the id without a proof is not looked at: it may be anybody's."""
        digests = self._attempts(study, person)
        found = {digests.index(digest) + 1: stream for digest, stream in self._streams(study, digests)}
        if not found:
            return None
        last = max(found)
        submissions = {attempt: self._submission(stream) for attempt, stream in found.items()}
        same = [attempt for attempt, told in submissions.items() if told == person.submission]
        if same:
            return ReturningParticipant(found[max(same)], last + 1, same=True)
        return ReturningParticipant(found[last], last + 1, same=not _another(person, submissions[last]))

    def returning(self, study: str, person: ParticipantId, stream: str, attempt: int) -> ReturningParticipant | None:
        """The session of a browser, which is that person's `attempt`, if it began under this id, proven or not."""
        told = self.reveal(stream)
        if told is not None:
            mine = (told.recruiter, told.id) == (person.recruiter, person.id)
        else:  # without an id, or who withdrew
            mine = stream in self.sessions(study, person)
        submission = told.submission if told else None
        return ReturningParticipant(stream, attempt + 1, same=not _another(person, submission)) if mine else None

    def unproven(self, study: str, person: ParticipantId) -> int:
        """The last number of a session that began under an id without a proof; 0 if none did. Between two there are
        fewer than MOST_GAP numbers that nobody has, so that a few looks find the last of many."""

        def seen(number: int) -> list[int]:
            digests = [self._digest(study, person, number + n, proven=False) for n in range(MOST_GAP)]
            return [number + digests.index(digest) for digest, _ in self._streams(study, digests)]

        beyond = 1
        while seen(beyond):
            beyond *= 2
        last = beyond // 2
        while beyond - last > 1:
            middle = (last + beyond) // 2
            last, beyond = (middle, beyond) if seen(middle) else (last, middle)
        return last and max(seen(last))

    def sessions(self, study: str, person: ParticipantId) -> list[str]:
        """The streams of all sessions in a study that began under a person's id, proven or not."""
        unproven = range(1, self.unproven(study, person) + 1)
        digests = [*self._attempts(study, person), *(self._digest(study, person, n, proven=False) for n in unproven)]
        return [stream for _, stream in self._streams(study, digests)]

    def called(self, study: str, id_: str) -> tuple[str, ...]:
        """The streams of whom any recruiter calls by an id. That somebody asked is for the caller to write down."""
        with self._engine.connect() as connection:
            recruiters = connection.execute(select(_identity.recruiter).distinct()).scalars().all()
        return tuple(
            stream for recruiter in recruiters for stream in self.sessions(study, ParticipantId(recruiter, id_))
        )

    def find(self, study: str, person: ParticipantId) -> str | None:
        """The one stream that counts for a recruiter's id: of a proven one the newest; of others the first that is
        complete, or else the first. None if there is none."""
        if (found := self.known(study, person)) is not None:
            return found.stream
        its, seat = tables.sessions.c, tables.seats.c
        query = (
            select(its.stream)
            .outerjoin(tables.seats, seat.stream == its.stream)
            .where(its.stream.in_(self.sessions(study, person)))
            .order_by(case((seat.outcome == "complete", 0), else_=1), its.ordinal)
        )
        with self._engine.connect() as connection:
            return connection.execute(query).scalars().first()

    def renew(self, stream: str, person: ParticipantId) -> None:
        """Keep that a person who goes on has another submission now: it is the one to be paid."""
        t = tables.identities
        with writer(self._engine) as connection, connection.begin():
            kept = update(t).where(t.c.stream == stream, t.c.sealed != b"")
            connection.execute(kept.values(sealed=self._seal(person)))

    def reveal(self, stream: str) -> ParticipantId | None:
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
            return ParticipantId(found.recruiter, told)
        values = orjson.loads(told)
        return ParticipantId(found.recruiter, values["id"], values["submission"])

    def _attempts(self, study: str, person: ParticipantId) -> list[str]:
        return [self._digest(study, person, attempt) for attempt in range(1, MOST_ATTEMPTS + 1)]

    def _streams(self, study: str, digests: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Those of these digests that there are, each with its session."""
        with self._engine.connect() as connection:
            for start in range(0, len(digests), AT_ONCE):
                wanted = _identity.digest.in_(digests[start : start + AT_ONCE])
                query = select(_identity.digest, _identity.stream).where(_identity.study == study, wanted)
                yield from ((row.digest, row.stream) for row in connection.execute(query))

    def _submission(self, stream: str) -> str | None:
        """What the recruiter called a session's submission; None for who withdrew."""
        person = self.reveal(stream)
        return person.submission if person else None

    def link(self, study: str, label: str) -> str:
        """The secret part of a personal link for somebody who is called `label`: nobody else can make one."""
        return f"{label}.{self._mac('link', study, label)}"

    def labelled(self, study: str, token: str) -> str | None:
        """Whose personal link it is; None if we did not make it."""
        label, _, mac = token.rpartition(".")
        return label if label and _same(mac, self._mac("link", study, label)) else None

    def signature(self, study: str, recruiter: str, id_: str) -> str:
        """What makes a recruiter's link with this id a signed one: nobody else can make it."""
        return self._mac("signed link", study, recruiter, id_)

    def signed(self, study: str, recruiter: str, id_: str, signature: str) -> bool:
        """Whether we made the signature of a recruiter's link."""
        return _same(signature, self.signature(study, recruiter, id_))

    def _mac(self, *said: str) -> str:
        made = hmac.new(self._secret, "\n".join(said).encode(), sha256).digest()[:MAC_BYTES]
        return base64.urlsafe_b64encode(made).decode().rstrip("=")

    def _seal(self, person: ParticipantId) -> bytes:
        return self._fernet.encrypt(orjson.dumps({"id": person.id, "submission": person.submission}))

    def _digest(self, study: str, person: ParticipantId, number: int, *, proven: bool = True) -> str:
        again = (f"\nattempt {number}" if number > 1 else "") if proven else f"\nunproven {number}"
        said = f"{study}\n{person.recruiter}\n{person.id}{again}"
        return hmac.new(self._secret, said.encode(), sha256).hexdigest()


def _another(person: ParticipantId, told: str | None) -> bool:
    """Whether somebody comes with another submission than the one told; of who withdrew there is none."""
    return bool(person.submission) and told is not None and told != person.submission


def _same(given: str, made: str) -> bool:
    return hmac.compare_digest(given.encode(), made.encode())
