"""What can be written to the log: the pieces of work that its one writer takes up, each whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from experiments.events import Event
from storage.log.quota import StudyCounts
from storage.log.telemetry import TelemetryBatch
from storage.schemas.base import ReleasedRow


@dataclass(frozen=True, slots=True)
class Enrolment:
    """A new session's entry in the register, with its seat, and the recruiter's identity if there is one."""

    study: str
    hash: str
    origin: str
    identity: Mapping[str, Any] | None = None
    cell: Mapping[str, str] = field(default_factory=dict)
    begun_us: int = 0
    until_us: int = 0
    """Until when its seat is kept, whatever happens."""
    language: str = ""


@dataclass(frozen=True, slots=True)
class ClearedDraft:
    """What is no longer a draft, because it was sent: some names at a place, or all that was typed there."""

    path: str
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """What is written together: facts of one stream, the rows they imply, the part of a draft that was sent, and the
    columns of its seat that change. With `erases` all that was there of the stream before is deleted first."""

    stream: str
    study: str
    events: tuple[Event, ...]
    origin: str = ""
    rows: tuple[ReleasedRow, ...] = ()
    enrolment: Enrolment | None = None
    spent: ClearedDraft | None = None
    seat: Mapping[str, Any] = field(default_factory=dict)
    erases: bool = False


@dataclass(frozen=True, slots=True)
class AppendWithCounts:
    """Facts that depend on what others have: `make` reads it inside the transaction and says what to write.

    Nobody else counts until that is written. What `make` raises is the outcome, and nothing is written.
    """

    stream: str
    now_us: int
    make: Callable[[StudyCounts], Append]


@dataclass(frozen=True, slots=True)
class DraftRow:
    """What somebody has typed and not yet sent."""

    stream: str
    path: str
    data: Mapping[str, Any]
    at_us: int


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """An attempt to get a reply: a row of the table `attempt`."""

    values: Mapping[str, Any]

    @property
    def stream(self) -> str:
        """The session's, or the run's."""
        return str(self.values["stream"])

    @property
    def of_session(self) -> bool:
        """Whether it was for a session, and not for a sample of a run."""
        return self.values.get("cell") is None


Work = Append | AppendWithCounts | DraftRow | AttemptRow | TelemetryBatch
