"""Participants' ids at recruiters: stored outside the log, found by a keyed digest, readable only with the secret.

A digest (HMAC-SHA-256 under the deployment's secret) recognises a returning person. The recruiter's id is encrypted
with Fernet and used for payment files only. Neither is in the log or in an export. If a study allows repeated
participation, each attempt has its own digest. After a withdrawal only the digest remains; the encrypted id is gone.
If an id is deleted alone, the digest remains too, without the session (`storage/log/erasure.py`).

Only a proven id (links.py) gives access to a session. A session that begins under an unproven id has its own digest,
numbered after earlier ones of that id: researchers can find it by the id, but a visitor with that id cannot.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import Engine, case, select, update

from storage import tables
from storage.db.engine import writer
from storage.db.sealing import seal, unseal
from storage.errors import StorageError

_identity = tables.identities.c
MOST_ATTEMPTS = 20
MOST_GAP = 64
AT_ONCE = 500
# How the stream begins, which is no session's, of a digest whose id was deleted alone.
UNLINKED = "unlinked-"
# The length of the signature in a personal or signed link (128 bits).
MAC_BYTES = 16


@dataclass(frozen=True, slots=True)
class ParticipantId:
    """A recruiter's id of a person, such as Prolific's PROLIFIC_PID, and its id of the submission, if any."""

    recruiter: str
    id: str
    submission: str = ""


@dataclass(frozen=True, slots=True)
class ReturningParticipant:
    """A session of the submission, or else the newest of the person, for which `same` is false."""

    stream: str
    attempt: int
    same: bool

    @property
    def unlinked(self) -> bool:
        """True if the person took part before the id was deleted, so that the session cannot be found."""
        return self.stream.startswith(UNLINKED)


class Participants:
    def __init__(self, engine: Engine, secret: str) -> None:
        self._engine = engine
        self._secret = secret.encode()
        self._sealing = secret, "parley identity"

    def entry(self, study: str, participant: ParticipantId, number: int = 1, *, proven: bool = True) -> dict[str, Any]:
        """The stored recruiter, digest and sealed id; `number` counts attempts, or all sessions of an unproven id."""
        digest = self._digest(study, participant, number, proven=proven)
        return {"recruiter": participant.recruiter, "digest": digest, "sealed": self._seal(participant)}

    def entry_of_wave(self, participant: ParticipantId, stream: str) -> dict[str, Any]:
        """The stored entry of a later wave's session: for its payment. The person is found by the first wave's."""
        digest = hmac.new(self._secret, f"wave\n{stream}".encode(), sha256).hexdigest()
        return {"recruiter": participant.recruiter, "digest": digest, "sealed": self._seal(participant)}

    def known(self, study: str, participant: ParticipantId) -> ReturningParticipant | None:
        """The session of a proven id; without a submission, any counts as the same. Unproven ids may be anybody's."""
        digests = self._attempts(study, participant)
        found = {digests.index(digest) + 1: stream for digest, stream in self._streams(study, digests)}
        if not found:
            return None
        last = max(found)
        submissions = {attempt: self._submission(stream) for attempt, stream in found.items()}
        same = [attempt for attempt, submission in submissions.items() if submission == participant.submission]
        if same:
            return ReturningParticipant(found[max(same)], last + 1, same=True)
        return ReturningParticipant(found[last], last + 1, same=not _another(participant, submissions[last]))

    def returning(
        self, study: str, participant: ParticipantId, stream: str, attempt: int
    ) -> ReturningParticipant | None:
        """The browser's session, attempt `attempt` of this person, if it began under this id, proven or not."""
        stored = self.reveal(stream)
        if stored is not None:
            mine = (stored.recruiter, stored.id) == (participant.recruiter, participant.id)
        else:  # without an id, or withdrawn; or the id was deleted, and the session is the browser's own
            its = self.sessions(study, participant)
            mine = stream in its or (not self._has_id(stream) and any(one.startswith(UNLINKED) for one in its))
        submission = stored.submission if stored else None
        return ReturningParticipant(stream, attempt + 1, same=not _another(participant, submission)) if mine else None

    def unproven(self, study: str, participant: ParticipantId) -> int:
        """The last number under an unproven id, or 0. Gaps are below MOST_GAP, so few queries find it."""

        def seen(number: int) -> list[int]:
            digests = [self._digest(study, participant, number + n, proven=False) for n in range(MOST_GAP)]
            return [number + digests.index(digest) for digest, _ in self._streams(study, digests)]

        beyond = 1
        while seen(beyond):
            beyond *= 2
        last = beyond // 2
        while beyond - last > 1:
            middle = (last + beyond) // 2
            last, beyond = (middle, beyond) if seen(middle) else (last, middle)
        return last and max(seen(last))

    def sessions(self, study: str, participant: ParticipantId) -> list[str]:
        """The streams of all sessions in a study that began under an id, proven or not, and of their later waves."""
        unproven = range(1, self.unproven(study, participant) + 1)
        digests = [
            *self._attempts(study, participant),
            *(self._digest(study, participant, n, proven=False) for n in unproven),
        ]
        own = [stream for _, stream in self._streams(study, digests)]
        its, other = tables.sessions.c, tables.sessions.alias().c
        query = select(other.stream).where(its.stream.in_(own), other.person == its.person, other.stream.not_in(own))
        with self._engine.connect() as connection:
            return [*own, *connection.execute(query.order_by(other.ordinal)).scalars()]

    def called(self, study: str, id_: str) -> tuple[str, ...]:
        """The streams of sessions under an id at any recruiter. The caller must write the lookup to the audit log."""
        with self._engine.connect() as connection:
            recruiters = connection.execute(select(_identity.recruiter).distinct()).scalars().all()
        return tuple(
            stream for recruiter in recruiters for stream in self.sessions(study, ParticipantId(recruiter, id_))
        )

    def find(self, study: str, participant: ParticipantId) -> str | None:
        """The stream of an id: the newest if proven; else the first complete, or the first. None without any."""
        if (found := self.known(study, participant)) is not None:
            return found.stream
        its, seat = tables.sessions.c, tables.seats.c
        query = (
            select(its.stream)
            .outerjoin(tables.seats, seat.stream == its.stream)
            .where(its.stream.in_(self.sessions(study, participant)))
            .order_by(case((seat.outcome == "complete", 0), else_=1), its.ordinal)
        )
        with self._engine.connect() as connection:
            return connection.execute(query).scalars().first()

    def renew(self, stream: str, participant: ParticipantId) -> None:
        """Store the new submission of a person who continues a session: it is the one to be paid."""
        t = tables.identities
        with writer(self._engine) as connection, connection.begin():
            kept = update(t).where(t.c.stream == stream, t.c.sealed != b"")
            connection.execute(kept.values(sealed=self._seal(participant)))

    def reveal(self, stream: str) -> ParticipantId | None:
        """The person; None without an id or after a withdrawal. Raises StorageError if sealed under another secret."""
        t = tables.identities.c
        with self._engine.connect() as connection:
            found = connection.execute(select(t.recruiter, t.sealed).where(t.stream == stream)).first()
        if found is None or not found.sealed:
            return None
        if (values := self.unseal(found.sealed)) is None:
            raise StorageError(
                "the recruiters' ids cannot be read: they were sealed under another secret than PARLEY_SECRET (or the "
                "file .secret beside the database) is now. Use the one with which the study was served"
            )
        return ParticipantId(found.recruiter, values["id"], values["submission"])

    def marks(self, study: str, participant: ParticipantId) -> tuple[str, ...]:
        """The submissions' marks in the log: of this one, if any, and of the person, of whom an export speaks."""
        own = self._mac("participant", study, participant.recruiter, participant.id)
        return (*filter(None, [self.submission_mark(participant.recruiter, participant.submission)]), own)

    def sessions_of(self, participant: ParticipantId) -> dict[str, tuple[str, ...]]:
        """The sessions of a submission in all studies, each with its marks."""
        wanted = select(_identity.study).where(_identity.recruiter == participant.recruiter).distinct()
        with self._engine.connect() as connection:
            studies = connection.execute(wanted).scalars().all()
        streams = [(study, stream) for study in studies for stream in self.sessions(study, participant)]
        mine = [(study, stream) for study, stream in streams if self._submission(stream) == participant.submission]
        return {stream: self.marks(study, participant) for study, stream in mine}

    def submission_mark(self, recruiter: str, submission: str) -> str:
        """The mark of a submission, which nobody can trace back without the secret; empty without one."""
        return self._mac("submission", recruiter, submission) if submission else ""

    def _attempts(self, study: str, participant: ParticipantId) -> list[str]:
        return [self._digest(study, participant, attempt) for attempt in range(1, MOST_ATTEMPTS + 1)]

    def _streams(self, study: str, digests: Sequence[str]) -> Iterator[tuple[str, str]]:
        """The existing ones of these digests, each with its session."""
        with self._engine.connect() as connection:
            for start in range(0, len(digests), AT_ONCE):
                wanted = _identity.digest.in_(digests[start : start + AT_ONCE])
                query = select(_identity.digest, _identity.stream).where(_identity.study == study, wanted)
                yield from ((row.digest, row.stream) for row in connection.execute(query))

    def _has_id(self, stream: str) -> bool:
        with self._engine.connect() as connection:
            return connection.execute(select(_identity.stream).where(_identity.stream == stream)).first() is not None

    def _submission(self, stream: str) -> str | None:
        """The recruiter's id of a session's submission; None after a withdrawal."""
        person = self.reveal(stream)
        return person.submission if person else None

    def link(self, study: str, label: str) -> str:
        """The secret part of the personal link for `label`, which cannot be forged."""
        return f"{label}.{self._mac('link', study, label)}"

    def labelled(self, study: str, token: str) -> str | None:
        label, _, mac = token.rpartition(".")
        return label if label and _same(mac, self._mac("link", study, label)) else None

    def return_token(self, study: str, person: str) -> str:
        """The secret part of a person's link back to a study with waves."""
        return f"{person}.{self._mac('return link', study, person)}"

    def returning_person(self, study: str, token: str) -> str:
        person, _, mac = token.rpartition(".")
        return person if person and _same(mac, self._mac("return link", study, person)) else ""

    def signature(self, study: str, recruiter: str, id_: str) -> str:
        """The signature for a recruiter's link with this id, which cannot be forged."""
        return self._mac("signed link", study, recruiter, id_)

    def signed(self, study: str, recruiter: str, id_: str, signature: str) -> bool:
        return _same(signature, self.signature(study, recruiter, id_))

    def _mac(self, *said: str) -> str:
        made = hmac.new(self._secret, "\n".join(said).encode(), sha256).digest()[:MAC_BYTES]
        return base64.urlsafe_b64encode(made).decode().rstrip("=")

    def seal(self, value: object) -> bytes:
        return seal(*self._sealing, value)

    def unseal(self, sealed: bytes) -> Any:
        """The value; None if it was sealed under another secret."""
        return unseal(*self._sealing, sealed)

    def _seal(self, participant: ParticipantId) -> bytes:
        return self.seal({"id": participant.id, "submission": participant.submission})

    def _digest(self, study: str, participant: ParticipantId, number: int, *, proven: bool = True) -> str:
        again = (f"\nattempt {number}" if number > 1 else "") if proven else f"\nunproven {number}"
        said = f"{study}\n{participant.recruiter}\n{participant.id}{again}"
        return hmac.new(self._secret, said.encode(), sha256).hexdigest()


def _another(participant: ParticipantId, other_id: str | None) -> bool:
    """True if the person has another submission than the stored one, which is None after a withdrawal."""
    return bool(participant.submission) and other_id is not None and other_id != participant.submission


def _same(given: str, made: str) -> bool:
    return hmac.compare_digest(given.encode(), made.encode())
