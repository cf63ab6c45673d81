"""Write requests to the log, each carried out completely or not at all by its only writer."""

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
    """A draft to delete because it was sent: some fields at a path, or all fields there."""

    path: str
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """Data written together: events of one stream, the rows that they imply, the sent part of a draft, and the changed
    columns of its seat. With `erases` all earlier data of the stream are deleted."""

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
    """Events that depend on other sessions: `make` reads their counts inside the transaction and returns what to write.

    No other transaction counts until that is written. If `make` raises, nothing is written and the future raises it.
    """

    stream: str
    now_us: int
    make: Callable[[StudyCounts], Append]


@dataclass(frozen=True, slots=True)
class DraftRow:
    """Text that a participant has typed, but not sent."""

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
        """The stream of the session or run."""
        return str(self.values["stream"])

    @property
    def of_session(self) -> bool:
        """Whether the attempt belongs to a session, not to a sample of a run."""
        return self.values.get("cell") is None


Work = Append | AppendWithCounts | DraftRow | AttemptRow | TelemetryBatch
