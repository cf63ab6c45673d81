"""Submissions at a recruiter, and what was asked of it: events of the log, folded by pure functions.

Of a submission's status Prolific's webhook, its list and its export speak, in any order, late and twice:

    observed {submission, status, source}    at_us: when it had this status

in the recruiter's own stream, as no webhook names a study. `submission` is a keyed mark: no ID of a recruiter is in the
log. Of several the one counts that is highest by stage, time and rank, so that neither order nor repetition matters.

In a study's stream is what was asked of the recruiter:

    asked {act, what, who, ...}              it was decided, by a person or by the study's rule
    sent {act, attempt, ...}                 before each request; its key lets one process send it
    settled {act, attempt, result, detail}   `done`; `refused` for good; `failed`, and may be sent again

An act that was sent and not settled may have been carried out: the recruiter is asked what is true before another try.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from experiments.events import Event

Source = Literal["webhook", "list", "export"]
ActKind = Literal["approve", "reject", "complete", "return", "message", "bonuses"]
Result = Literal["done", "refused", "failed"]
OBSERVED = "observed"
ACT_EVENTS = ("asked", "sent", "settled")
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
# The pauses between two attempts.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 30, 3_600


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


@dataclass(frozen=True, slots=True)
class Act:
    """Something that is asked of a recruiter; `result` is None before the first attempt, and while one is uncertain."""

    id: str
    what: ActKind
    asked_us: int
    data: Mapping[str, Any]
    attempts: int = 0
    sent_us: int = 0
    sent: Mapping[str, Any] = field(default_factory=dict)
    result: Result | None = None
    detail: str = ""

    @property
    def is_open(self) -> bool:
        return self.result not in ("done", "refused")

    @property
    def is_uncertain(self) -> bool:
        return self.attempts > 0 and self.result is None

    @property
    def due_us(self) -> int:
        """The time of the next attempt."""
        if not self.attempts:
            return self.asked_us
        return self.sent_us + min(FIRST_PAUSE_S << (self.attempts - 1), LONGEST_PAUSE_S) * 1_000_000


def plain_status(status: str) -> str:
    """One form for what the API, the export and some answers write with dashes, small letters or underscores."""
    return status.strip().upper().replace("-", " ").replace("_", " ")


def observation_of(event: Event) -> Observation:
    return Observation(event.data["submission"], event.data["status"], event.at_us, event.data["source"], event.key)


def latest(observations: Iterable[Observation]) -> dict[str, Observation]:
    """What counts of each submission, by its mark."""
    found: dict[str, Observation] = {}
    for one in observations:
        known = found.get(one.submission)
        if known is None or one.order > known.order:
            found[one.submission] = one
    return found


def known_as(marks: Sequence[str], observed: Mapping[str, Observation]) -> Observation | None:
    """What counts under the first of a session's marks under which anything was observed."""
    return next(filter(None, map(observed.get, marks)), None)


def status_of(marks: Sequence[str], observed: Mapping[str, Observation]) -> str:
    """The status of a session's submission; empty if nothing was observed of it."""
    one = known_as(marks, observed)
    return one.status if one else ""


def acts_of(events: Iterable[Event]) -> dict[str, Act]:
    """A study's acts, by their ids, in the order in which they were asked."""
    found: dict[str, Act] = {}
    for event in events:
        data = dict(event.data)
        id_ = data.pop("act")
        match event.kind:
            case "asked":
                found[id_] = Act(id_, data.pop("what"), event.at_us, data)
            case "sent":
                attempt = data.pop("attempt")
                found[id_] = replace(found[id_], attempts=attempt, sent_us=event.at_us, sent=data, result=None)
            case "settled" if found[id_].is_open and data["attempt"] in (0, found[id_].attempts):
                found[id_] = replace(found[id_], result=data["result"], detail=data["detail"])
            case _:
                pass
    return found
