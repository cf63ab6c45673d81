"""Submissions at a recruiter: of each one's status Prolific's webhook, its list and its export speak, in any order,
late and twice.

    observed {submission, status, source}    at_us: when it had this status

in the recruiter's own stream, as no webhook names a study. `submission` is a keyed mark: no ID of a recruiter is in the
log. Of several the one counts that is highest by stage, time and rank, so that neither order nor repetition matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, select

from experiments.events import Event
from storage import tables
from storage.db.append_events import append_events, append_in_turn
from storage.db.engine import Database
from storage.log.seats import release
from storage.registers.study_status import recruiter_stream

Source = Literal["webhook", "list", "export"]
OBSERVED = "observed"
# A submission's life at Prolific. Of two statuses at one time the later one here counts.
LIFE = (
    *("RESERVED", "ACTIVE", "TIMED OUT", "AWAITING REVIEW"),
    *("PARTIALLY APPROVED", "SCREENED OUT", "APPROVED", "RETURNED", "REJECTED"),
)
# What the statuses are called of submissions that are not to be paid.
RETURNED = "RETURNED"
OVER = (RETURNED, "TIMED OUT", "REJECTED")
# No submission goes back to these, whatever times its webhooks have.
BEGINNING = ("RESERVED", "ACTIVE")
_event = tables.events.c


@dataclass(frozen=True, slots=True)
class Observation:
    """`key` is the id of a webhook's event; None for what may be observed any number of times."""

    submission: str
    status: str
    at_us: int
    source: Source
    key: str | None = None

    @property
    def order(self) -> tuple[bool, int, int]:
        return self.status not in BEGINNING, self.at_us, LIFE.index(self.status)


def plain_status(status: str) -> str:
    """A status in one form: the API, the export and some answers differ in dashes, capitals or underscores."""
    return status.strip().upper().replace("-", " ").replace("_", " ")


def latest(observations: Iterable[Observation]) -> dict[str, Observation]:
    """Return the observation that counts for each submission, by its mark."""
    found: dict[str, Observation] = {}
    for one in observations:
        known = found.get(one.submission)
        if known is None or one.order > known.order:
            found[one.submission] = one
    return found


def known_as(marks: Sequence[str], observed: Mapping[str, Observation]) -> Observation | None:
    """Return the observation under the first of a session's marks that has one."""
    return next(filter(None, map(observed.get, marks)), None)


def observations_in(connection: Connection, recruiter: str) -> dict[str, Observation]:
    """Read the observation that counts for each submission at a recruiter, by its mark."""
    return latest(map(_observation, _observed(connection, recruiter, 0)))


def observe(
    database: Database,
    recruiter: str,
    observations: Sequence[Observation],
    sessions: Mapping[str, Sequence[str]],
    now_us: int,
    then: Callable[[Connection, int], None] = lambda _, __: None,
) -> int:
    """Keep what is new of these, and free the places of the sessions, each with its marks, whose submissions are over;
    returns how many, and calls `then` with it in the same transaction. An observation with a key is new once; one
    without is new if it changes what counts of its submission."""

    reads = bool(sessions) or not all(one.key for one in observations)
    with database.connect() as connection:  # nobody who writes waits for this
        earlier = _observed(connection, recruiter, 0) if reads else []

    def write(connection: Connection, numbers: Iterator[int]) -> int:
        later = _observed(connection, recruiter, earlier[-1].seq if earlier else 0) if reads else []
        known = latest(map(_observation, [*earlier, *later]))
        keys = _known_keys(connection, recruiter, [one.key for one in observations if one.key])
        new = []
        for one in observations:
            before = known.get(one.submission)
            if one.key in keys if one.key else before is not None and before.status == one.status:
                continue
            new.append(one)
            keys |= {one.key} if one.key else set()
            known |= latest(filter(None, (before, one)))
        if new:
            stream = recruiter_stream(recruiter)
            append_events(connection, [(stream, _event_of(next(numbers), one)) for one in new])
        ends = {stream: known_as(marks, known) for stream, marks in sessions.items()}
        over = [stream for stream, end in ends.items() if end is not None and end.status in OVER]
        freed = sum(release(connection, stream, now_us) for stream in over)
        then(connection, freed)
        return freed

    return append_in_turn(database, recruiter_stream(recruiter), recruiter, write)


def _observation(event: Event) -> Observation:
    return Observation(event.data["submission"], event.data["status"], event.at_us, event.data["source"], event.key)


def _event_of(seq: int, one: Observation) -> Event:
    data = {"submission": one.submission, "status": one.status, "source": one.source}
    return Event(seq, one.at_us, "system", "", OBSERVED, data, one.key)


def _observed(connection: Connection, recruiter: str, after: int) -> Sequence[Event]:
    of = _event.stream == recruiter_stream(recruiter), _event.seq > after, _event.kind == OBSERVED
    return [Event(*row) for row in connection.execute(select(*tables.EVENT).where(*of).order_by(_event.seq))]


def _known_keys(connection: Connection, recruiter: str, keys: Sequence[str]) -> set[str | None]:
    wanted = select(_event.key).where(_event.stream == recruiter_stream(recruiter), _event.key.in_(keys))
    return set(connection.execute(wanted).scalars())
