"""Links by which `parley rehearse` sends simulated participants through the running server.

A link is signed with the deployment's secret and valid for an hour, so nobody else can begin a rehearsed session. It
names the session, so the same link, made again, leads back to it. Rehearsed participants all come from one address and
click many times as fast as people, so limits of rates do not hold for them: they send the link's token in a header of
each request.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from urllib.parse import urlencode
from uuid import NAMESPACE_URL, uuid5

from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.requests import Request

from storage.registers.participants import ParticipantId

LASTS_S = 3600
PARAMETER = "parley_rehearsal"
HEADER = "x-parley-rehearsal"


@dataclass(frozen=True, slots=True)
class RehearsedVisitor:
    """A rehearsed participant of a study: a recruiter and an id there, both empty where the study asks for none.

    `scripted`: the scripted model replies in place of the study's models.
    """

    study: str
    name: str
    recruiter: str = ""
    id: str = ""
    scripted: bool = False

    @property
    def stream(self) -> str:
        """The stream of the session, the same each time."""
        return str(uuid5(NAMESPACE_URL, f"parley:rehearsal:{self.study}:{self.name}"))

    @property
    def person(self) -> ParticipantId | None:
        """The identity under which the session is stored."""
        return ParticipantId(self.recruiter, self.id, f"{self.id}-submission") if self.recruiter else None


class RehearsalLinks:
    def __init__(self, secret: str) -> None:
        self._signer = URLSafeTimedSerializer(secret, salt="parley rehearsal")

    def path(self, visitor: RehearsedVisitor) -> str:
        """The path and query of the visitor's start page."""
        return f"/s/{visitor.study}?{urlencode({PARAMETER: self.token(visitor)})}"

    def token(self, visitor: RehearsedVisitor) -> str:
        """The signed token of a visitor, made now."""
        return str(self._signer.dumps(asdict(visitor)))

    def read(self, token: str, study: str) -> RehearsedVisitor | None:
        """The visitor of a link; None if it is expired, invalid or for another study."""
        visitor = self._visitor(token)
        return visitor if visitor is not None and visitor.study == study else None

    def sent_by(self, request: Request) -> bool:
        """Whether a rehearsed participant sent a request."""
        token = request.headers.get(HEADER)
        return token is not None and self._visitor(token) is not None

    def _visitor(self, token: str) -> RehearsedVisitor | None:
        try:
            return RehearsedVisitor(**self._signer.loads(token, max_age=LASTS_S))
        except (BadSignature, TypeError):
            return None
