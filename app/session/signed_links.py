"""Links and form values, signed with the deployment's secret and not stored.

- A ticket, in the form of a start page: only its button starts a session, and only one.
- A trial link tries a study without a recruiter: for a preview of one's own, and for a pilot with others. Whoever has
  it can start sessions without an id, also while the study is paused or closed; all of them are pilot sessions.
- A preview link continues a session that a simulated participant started (`app.bots.preview_session`). It opens pilot
  sessions only, because anyone who has the link can use it.
- A rehearsal link sends a simulated participant through the running server (`parley rehearse`). It names the session,
  so the same link, made again, leads back to it. Rehearsed participants all come from one address and click many times
  as fast as people, so limits of rates do not hold for them: they send the link's token in a header of each request.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal
from urllib.parse import urlencode
from uuid import NAMESPACE_URL, uuid5

from itsdangerous import BadSignature, URLSafeTimedSerializer

from storage.registers.participants import ParticipantId

HOUR_S, DAY_S = 3600, 24 * 3600
Trial = Literal["preview", "pilot"]
TRIALS_LAST_S: Mapping[Trial, int] = {"preview": DAY_S, "pilot": 30 * DAY_S}
LABELS: Mapping[Trial, str] = {
    "preview": "Preview, for you (1 day; starts anew each time)",
    "pilot": "Pilot, for colleagues (30 days)",
}
# The parameter of each trial link; a panel may call its own `pilot`.
PARAMETERS: Mapping[Trial, str] = {"preview": "parley_preview", "pilot": "parley_pilot"}
REHEARSAL_PARAMETER = "parley_rehearsal"
# The parameter of the link by which a person comes back to a study with waves (`Participants.return_token`).
RETURN_PARAMETER = "parley_return"
REHEARSAL_HEADER = "x-parley-rehearsal"


class _LinkSigner:
    """Signs values for one purpose, and reads them for some time."""

    def __init__(self, secret: str, salt: str, lasts_s: int) -> None:
        self._signer, self._lasts_s = URLSafeTimedSerializer(secret, salt=salt), lasts_s

    def token(self, value: object) -> str:
        return str(self._signer.dumps(value))

    def read(self, token: str) -> Any:
        """The value of a token; None if it is expired or forged."""
        try:
            return self._signer.loads(token, max_age=self._lasts_s)
        except BadSignature:
            return None


class Tickets:
    """The tickets of start pages. After a day the button shows the start page again."""

    def __init__(self, secret: str) -> None:
        self._signer = _LinkSigner(secret, "parley ticket", DAY_S)

    def new(self, study: str, *, with_cookie: bool = False) -> str:
        return self._signer.token([study, secrets.token_urlsafe(16), with_cookie])

    def session(self, ticket: str, study: str) -> str:
        """The stream of the session that a ticket starts, the same each time; empty if it is not valid here."""
        named, nonce, _ = self._signer.read(ticket) or ("", "", False)
        return str(uuid5(NAMESPACE_URL, f"parley:ticket:{nonce}")) if named == study else ""

    def with_cookie(self, ticket: str) -> bool:
        """Return True if a cookie was set with the ticket. A browser that sends the ticket alone keeps no cookies."""
        return bool((self._signer.read(ticket) or ("", "", False))[2])


class TrialLinks:
    """A preview starts a new session each time; a pilot link leads back to the browser's session."""

    def __init__(self, secret: str) -> None:
        self._signers = {
            trial: _LinkSigner(secret, f"parley {trial} link", lasts_s) for trial, lasts_s in TRIALS_LAST_S.items()
        }

    def links(self, study: str, address: str) -> list[tuple[str, str]]:
        return [(LABELS[trial], self.link(trial, study, address)) for trial in TRIALS_LAST_S]

    def link(self, trial: Trial, study: str, address: str) -> str:
        return f"{address}/s/{study}?{PARAMETERS[trial]}={self._signers[trial].token(study)}"

    def read(self, query: Mapping[str, str], study: str) -> tuple[Trial | None, bool]:
        """Return the trial of a link to a study; and True if its token is expired, forged or of another study."""
        for trial, signer in self._signers.items():
            if (token := query.get(PARAMETERS[trial])) is not None:
                return (trial, False) if signer.read(token) == study else (None, True)
        return None, False


class PreviewLinks:
    """The links last an hour."""

    def __init__(self, secret: str) -> None:
        self._signer = _LinkSigner(secret, "parley preview", HOUR_S)

    def link(self, address: str, stream: str) -> str:
        return f"{address}/walk/{self._signer.token(stream)}"

    def stream(self, token: str) -> str | None:
        stream = self._signer.read(token)
        return stream if isinstance(stream, str) else None


@dataclass(frozen=True, slots=True)
class RehearsedVisitor:
    """A rehearsed participant of a study: a recruiter and an id there, both empty where the study asks for none.
    `scripted`: the scripted model replies in place of the study's models."""

    study: str
    name: str
    recruiter: str = ""
    id: str = ""
    scripted: bool = False

    @property
    def stream(self) -> str:
        return str(uuid5(NAMESPACE_URL, f"parley:rehearsal:{self.study}:{self.name}"))

    @property
    def person(self) -> ParticipantId | None:
        return ParticipantId(self.recruiter, self.id, f"{self.id}-submission") if self.recruiter else None


class RehearsalLinks:
    """The links last an hour."""

    def __init__(self, secret: str) -> None:
        self._signer = _LinkSigner(secret, "parley rehearsal", HOUR_S)

    def path(self, visitor: RehearsedVisitor) -> str:
        return f"/s/{visitor.study}?{urlencode({REHEARSAL_PARAMETER: self.token(visitor)})}"

    def token(self, visitor: RehearsedVisitor) -> str:
        return self._signer.token(asdict(visitor))

    def read(self, token: str, study: str) -> RehearsedVisitor | None:
        visitor = self._visitor(token)
        return visitor if visitor is not None and visitor.study == study else None

    def holds(self, token: str) -> bool:
        return self._visitor(token) is not None

    def _visitor(self, token: str) -> RehearsedVisitor | None:
        try:
            return RehearsedVisitor(**(self._signer.read(token) or {}))
        except TypeError:
            return None
