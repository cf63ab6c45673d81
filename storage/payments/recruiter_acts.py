"""Acts at a recruiter's API on a study or its submissions, in the study's own stream.

    asked {act, what, who, ...}                       it was decided, by a person or by the study's rule; `cents` is the
                                                      money that it commits, `sessions` those of the submissions
    sent {act, attempt, ...}                          before each request; its key lets one process send it
    settled {act, attempt, result, detail, ...}       `done`; `refused` for good; `failed`, and may be sent again;
                                                      `lost`: nobody knows, as there was no answer

An act that was sent and is not settled, or lost, may have been carried out: the recruiter is asked what is true before
anything is asked again, and its money counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sqlalchemy import Connection, select

from experiments.errors import NotPossible
from experiments.events import Actor, Event
from experiments.money import Money
from storage import tables
from storage.db.append_events import append_events, append_in_turn, next_numbers
from storage.db.engine import Database
from storage.registers.study_status import study_stream

Result = Literal["done", "refused", "failed", "lost"]
ActEventKind = Literal["asked", "sent", "settled"]
KINDS: tuple[ActEventKind, ...] = ("asked", "sent", "settled")
# Longer than any request takes: one without an answer is over by then.
IN_PROGRESS_S = 180
# The pauses between two attempts.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 30, 3_600
_event = tables.events.c


@dataclass(frozen=True, slots=True)
class Act:
    """`result` is None before the first attempt and while it has no answer; the rest is what its events say."""

    id: str
    what: str
    asked_us: int
    data: Mapping[str, Any]
    attempts: int = 0
    sent_us: int = 0
    sent: Mapping[str, Any] = field(default_factory=dict)
    result: Result | None = None
    detail: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)

    @property
    def who(self) -> str:
        return str(self.data["who"])

    @property
    def sessions(self) -> Sequence[str]:
        """The sessions of the submissions that it is about; empty if it is about the study."""
        return tuple(self.data.get("sessions", ()))

    @property
    def is_open(self) -> bool:
        return self.result not in ("done", "refused")

    @property
    def is_uncertain(self) -> bool:
        return self.attempts > 0 and self.result in (None, "lost")

    @property
    def due_us(self) -> int:
        if not self.attempts:
            return self.asked_us
        return self.sent_us + min(FIRST_PAUSE_S << (self.attempts - 1), LONGEST_PAUSE_S) * 1_000_000

    def in_progress(self, now_us: int) -> bool:
        return self.attempts > 0 and self.result is None and now_us - self.sent_us < IN_PROGRESS_S * 1_000_000


@dataclass(frozen=True, slots=True)
class ActEvent:
    kind: ActEventKind
    data: Mapping[str, Any]
    at_us: int
    by: Actor = "system"


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
            case "settled" if found[id_].is_open and data.pop("attempt") == found[id_].attempts:
                result, detail = data.pop("result"), data.pop("detail")
                found[id_] = replace(found[id_], result=result, detail=detail, answer=data)
            case _:
                pass
    return found


def committed_cents(acts: Iterable[Act]) -> int:
    """The money of all that was, or may have been, carried out."""
    return sum(act.data.get("cents", 0) for act in acts if act.result != "refused")


def recruited_studies(acts: Iterable[Act]) -> tuple[str, ...]:
    """The recruiter's ids of the studies that were made, the last first."""
    ids = [str(act.answer["study"]) for act in acts if "study" in act.answer]
    return tuple(dict.fromkeys(reversed(ids)))


def acts_in(connection: Connection, study: str) -> dict[str, Act]:
    wanted = select(*tables.EVENT).where(_event.stream == study_stream(study), _event.kind.in_(KINDS))
    return acts_of(Event(*row) for row in connection.execute(wanted.order_by(_event.seq)))


def acts(database: Database, study: str) -> dict[str, Act]:
    with database.connect() as connection:
        return acts_in(connection, study)


def add_acts(
    database: Database,
    study: str,
    events: Sequence[ActEvent],
    fits: Callable[[Collection[Act]], bool],
    limit: Money | None = None,
    then: Callable[[Connection], None] = lambda _: None,
) -> bool:
    """Write events that `fit` the acts, and what `then` writes, in one transaction; True if so. Raises NotPossible."""

    def write(connection: Connection, numbers: Iterator[int]) -> bool:
        known = acts_in(connection, study).values()
        fit = fits(known)
        if fit:
            _append(connection, study, numbers, known, events, limit)
            then(connection)
        return fit

    return append_in_turn(database, study_stream(study), study, write)


def append_acts(connection: Connection, study: str, events: Sequence[ActEvent], limit: Money) -> None:
    """Raises NotPossible if the study's acts would commit more than the limit; IntegrityError if not first."""
    numbers = next_numbers(connection, study_stream(study))  # before what the limit is held against is read
    _append(connection, study, numbers, acts_in(connection, study).values(), events, limit)


def _append(
    connection: Connection,
    study: str,
    numbers: Iterator[int],
    known: Iterable[Act],
    events: Sequence[ActEvent],
    limit: Money | None,
) -> None:
    if limit is not None:
        _refuse_beyond(known, events, limit)
    made = [Event(next(numbers), one.at_us, one.by, "", one.kind, one.data, _key(one)) for one in events]
    append_events(connection, [(study_stream(study), event) for event in made])


def settle(
    database: Database,
    study: str,
    act: tuple[str, int],
    result: Result,
    detail: str,
    at_us: int,
    answer: Mapping[str, str] = {},
) -> None:
    """Write what became of an act's attempt, unless that is known."""
    data = {"act": act[0], "attempt": act[1], "result": result, "detail": detail, **answer}

    def fits(known: Collection[Act]) -> bool:
        return act in [(one.id, one.attempts) for one in known if one.is_uncertain]

    add_acts(database, study, [ActEvent("settled", data, at_us)], fits)


def _refuse_beyond(acts: Iterable[Act], events: Sequence[ActEvent], limit: Money) -> None:
    money = Money.of_cents(sum(one.data.get("cents", 0) for one in events), limit.currency)
    committed = Money.of_cents(committed_cents(acts), limit.currency)
    if money.cents and limit < committed + money:
        raise NotPossible(
            f"This commits {money}, and {committed} of the limit of {limit} are committed already. Raise "
            "`prolific.spend_limit`, and publish the study."
        )


def _key(event: ActEvent) -> str:
    """A lost attempt is settled a second time, once its result is known."""
    data = event.data
    lost = [data["result"]] if data.get("result") == "lost" else []
    return ":".join([data["act"], str(data.get("attempt", 0)), event.kind, *lost])
