"""Participants to be paid in a study, and earlier payments: events `paid {amount, file}` in each session's own stream.

A payment takes the next number of the stream as it was read when the payment was worked out. Whatever came between (a
withdrawal, another `parley payments`) has that number already, so nobody is paid twice by two who work it out at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from experiments.events import Event
from experiments.session.desk import RESUBMITTED, excluded
from experiments.session.engine import fold
from experiments.study.location import State
from experiments.study.study import Study
from experiments.views.bonus import NOTHING, bonus_of, checks_failed
from experiments.views.quality_flags import SAME_ID
from storage import tables
from storage.db.append_events import append_events
from storage.db.engine import Database, writer
from storage.errors import Conflict
from storage.log.event_log import facts
from storage.log.seats import status_at
from storage.log.writer import is_erased
from storage.payments.submissions import Observation, known_as, observations_in
from storage.registers.origins import Origin
from storage.registers.participants import ParticipantId, Participants
from storage.registers.studies import Studies

COMPLETE, WITHDRAWN = "complete", "withdrawn"
# What stands for the recruiter of who came without an id.
OPEN = "open"


PROVEN, FIRST = "proven", "first"
# How the `file` of a payment begins that no file is for: a recruiter's API pays it.
API_PAYMENT = "prolific-api-"


@dataclass(frozen=True, slots=True)
class Payee:
    """A session to be paid. `id` is empty if there is none, or none any more; `seq` is the number of its last event;
    `paid` is by the file of the payment, `runs` are the keys of the runs that recorded it."""

    stream: str
    number: int
    recruiter: str
    id: str
    outcome: str
    earned: Decimal
    paid: Mapping[str, Decimal]
    runs: frozenset[str]
    checks_failed: int
    minutes: float | None
    seq: int
    whose: str = PROVEN
    """The owner of the id: PROVEN, FIRST for the first browser that had it, or the stream of a session in another. Of
    later waves, that of the first."""
    second: bool = False
    """True if it is complete, and the id is paid by another person's session."""
    excluded: str | None = None
    """A researcher's reason; None if it is not excluded."""
    status: str = ""
    """The status last observed of the submission at the recruiter; empty if none was."""
    submission: str = ""
    flags: str = ""
    person: str = ""
    wave: str = ""

    @property
    def before(self) -> Decimal:
        return sum(self.paid.values(), NOTHING)

    @property
    def due(self) -> Decimal:
        """Below zero if more was paid than is earned."""
        return self.earned - self.before


@dataclass(frozen=True, slots=True)
class Payment:
    payee: Payee
    file: str


def payees(
    database: Database, participants: Participants, study: str, now_us: int, origin: Origin = Origin.PERSON
) -> tuple[Payee, ...]:
    """People's sessions in order of arrival; of an id's in several browsers those not paid are `second`."""
    found = tuple(_payees(database, participants, study, now_us, origin))
    ids: dict[ParticipantId, list[Payee]] = {}
    for payee in found:
        if payee.id:
            ids.setdefault(ParticipantId(payee.recruiter, payee.id), []).append(payee)
    withdrawn = {payee.stream for payee in found if payee.outcome == WITHDRAWN}
    second: set[str] = set()
    for person, sessions in ids.items():
        if len({payee.whose for payee in sessions}) > 1 or sessions[0].whose not in (PROVEN, FIRST):
            paid = _paid_by(sessions, withdrew=not withdrawn.isdisjoint(participants.sessions(study, person)))
            second |= {payee.stream for payee in sessions if payee.outcome == COMPLETE and payee.whose != paid}
    return tuple(replace(payee, second=payee.stream in second) for payee in found)


def _paid_by(payees: Sequence[Payee], *, withdrew: bool) -> str:
    """The `whose` of the session by which an id is paid: paid before, else proven, else completed first. Empty after a
    withdrawal, which may have been paid, if only later browsers completed."""
    done = [payee for payee in payees if payee.outcome == COMPLETE]
    best = min(done, key=lambda one: (not one.paid, one.whose != PROVEN, one.number), default=None)
    if best is None or (withdrew and not best.paid and best.whose not in (PROVEN, FIRST)):
        return ""
    return best.whose


def _payees(database: Database, participants: Participants, study: str, now_us: int, origin: Origin) -> Iterator[Payee]:
    s, i, seat = tables.sessions, tables.identities, tables.seats
    known = Studies(database)
    wanted = (
        select(s.c.stream, s.c.ordinal, s.c.hash, i.c.recruiter, status_at(now_us), seat.c.flags)
        .outerjoin(i, i.c.stream == s.c.stream)
        .outerjoin(seat, seat.c.stream == s.c.stream)
        .where(s.c.study == study, s.c.origin == origin)
        .order_by(s.c.ordinal)
    )
    with database.connect() as connection:
        rows = connection.execute(wanted).all()
        observed = {name: observations_in(connection, name) for name in {row.recruiter for row in rows} if name}
        owners: dict[str, str] = {}
        for stream, number, hash_, recruiter, status, flags in rows:
            person = participants.reveal(stream) or ParticipantId(recruiter or OPEN, "")
            state = fold(facts(connection, stream))
            payee = _payee(known.get(hash_), state, stream, number, person)
            whose = owners.setdefault(payee.person, payee.whose) if payee.person else payee.whose
            marks = participants.marks(study, person) if person.id else ()
            found = _status(marks, observed.get(person.recruiter, {}), state.events)
            yield replace(payee, outcome=payee.outcome or status, status=found, flags=flags or "", whose=whose)


def _payee(study: Study, state: State, stream: str, number: int, participant: ParticipantId) -> Payee:
    withdrew = state.outcome == "withdrawn"
    return Payee(
        stream=stream,
        number=number,
        recruiter=participant.recruiter,
        id=participant.id,
        submission=participant.submission,
        outcome=state.outcome or "",
        earned=bonus_of(study, state),
        paid=_paid(state.events),
        runs=frozenset(event.key for event in state.events if event.kind == "paid" and event.key),
        checks_failed=0 if withdrew else checks_failed(study, state),
        minutes=None if withdrew else _minutes(state.events),
        seq=state.seq,
        whose=_payment_key(state, stream),
        excluded=None if withdrew else excluded(state.events),
        person=state.enrolled.get("person", ""),
        wave=state.enrolled.get("wave", ""),
    )


def _status(marks: Sequence[str], observed: Mapping[str, Observation], events: Iterable[Event]) -> str:
    """The status under the first of these marks; empty if the person came back with another submission since."""
    one = known_as(marks, observed)
    if one is None:
        return ""
    notes = (event for event in events if event.kind == "noted" and event.at_us > one.at_us)
    return "" if any(note.data.get("what") == RESUBMITTED for note in notes) else one.status


def _payment_key(state: State, stream: str) -> str:
    if state.enrolled.get("proof", PROVEN) != "none":  # nothing was said of it before ids had to be proven
        return PROVEN
    return stream if state.enrolled.get(SAME_ID) else FIRST


def _paid(events: Iterable[Event]) -> Mapping[str, Decimal]:
    paid: dict[str, Decimal] = {}
    for event in events:
        if event.kind == "paid":
            file = event.data["file"]
            paid[file] = paid.get(file, NOTHING) + Decimal(event.data["amount"])
    return paid


def _minutes(events: tuple[Event, ...]) -> float | None:
    """From the first click to the end."""
    ends = [event.at_us for event in events if event.kind == "finished"]
    return (ends[-1] - events[0].at_us) / 60e6 if ends else None


def record(
    database: Database,
    payments: Iterable[Payment],
    key: str,
    at_us: int,
    then: Callable[[Connection], None] = lambda _: None,
) -> None:
    """Keep all payments and what `then` writes, or none; raises Conflict where a session was changed since read."""
    paid = [(one.payee.stream, _event(one, key, at_us)) for one in payments]
    if not paid:
        return
    try:
        with writer(database) as connection, connection.begin():
            append_events(connection, paid)
            if any(is_erased(connection, stream) for stream, _ in paid):
                raise Conflict("a session was erased while its payment was computed")
            then(connection)
    except IntegrityError as error:
        raise Conflict(f"a session changed while its payment was computed: {error.orig}") from error


def _event(payment: Payment, key: str, at_us: int) -> Event:
    data = {"amount": f"{payment.payee.due:.2f}", "file": payment.file}
    return Event(payment.payee.seq + 1, at_us, "researcher", "", "paid", data, key)


def taken_back(payees: Iterable[Payee], file: str) -> tuple[Payment, ...]:
    """Payments that undo those of a file that was not paid."""
    paid = [(payee, payee.paid[file]) for payee in payees if payee.paid.get(file)]
    return tuple(Payment(replace(payee, earned=payee.before - amount), file) for payee, amount in paid)


def recorded_of(database: Database, keys: Collection[str]) -> tuple[str, ...]:
    e = tables.events.c
    wanted = select(e.key).where(e.kind == "paid", e.key.in_(keys)).distinct()
    with database.connect() as connection:
        return tuple(connection.execute(wanted).scalars())
