"""Submissions: what is known of them at Prolific, what should be done with each, and asking Prolific to do it.

Whatever is asked is an act (`storage.payments.recruiter_acts`): written before it is sent, and settled afterwards.
After a crash in between, `carry_out` asks Prolific what is true, and sends again only what was not carried out.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil
from typing import Any, Literal, get_args

from app.clock import Clock
from app.config.settings import Settings
from app.errors import RecruiterError, RecruiterRejected
from app.recruiters.prolific import MOST_IDS, REJECTION_CATEGORIES, SHORTEST_REJECTION, Prolific, Submission
from experiments.errors import NotPossible, suggestion
from experiments.money import Money
from experiments.study.study import Study
from experiments.views.bonus import NOTHING
from storage.db.engine import Database, repeated
from storage.log.seats import held
from storage.payments.payments import API_PAYMENT, Payee, Payment, payees, record, taken_back
from storage.payments.prolific import OPEN, lists
from storage.payments.recruiter_acts import (
    Act,
    ActEvent,
    Result,
    acts,
    add_acts,
    append_acts,
    recruited_studies,
    settle,
)
from storage.payments.submissions import LIFE, Observation, observe
from storage.registers.contacts import PROLIFIC
from storage.registers.participants import ParticipantId, Participants

ActKind = Literal["approve", "reject", "return", "message", "bonuses"]
AWAITING = "AWAITING REVIEW"
GOING = (*OPEN, AWAITING)
# Of what status a submission must be for an act.
FITS: Mapping[ActKind, Sequence[str]] = {"approve": (AWAITING,), "reject": (AWAITING,), "return": GOING}
SHORTEST: Mapping[ActKind, int] = {"reject": SHORTEST_REJECTION, "return": 1, "message": 1}
# How long an approval that Prolific accepted may take to show before it is asked for again, which does no harm.
SHOWS_WITHIN_US = 3_600_000_000
# Prolific pays bonuses "in the following minutes": before that, one that does not show is not paid again.
PAYS_WITHIN_US = 1_800_000_000
# How many submissions of a payment are looked at to see whether it was carried out.
PROBES = 3
RULE = "the study's rule"
Todo = Literal["review", "ask to return", "approve", "wait", "nothing"]
TODOS: tuple[Todo, ...] = get_args(Todo)


@dataclass(frozen=True, slots=True)
class RecruitedStudy:
    """A study with the `ids` of its studies at Prolific, the last first. `most` is what may be spent on it in all."""

    database: Database
    participants: Participants
    client: Prolific
    clock: Clock
    study: Study
    ids: tuple[str, ...]
    most: Decimal

    @property
    def name(self) -> str:
        return self.study.name

    @property
    def is_automatic(self) -> bool:
        """True if the rule approves without a researcher's word."""
        return self.study.file.prolific is not None and self.study.file.prolific.approval == "automatic"

    def currency(self) -> str:
        return self.client.study(self.ids[0]).currency or self.client.account().currency_code

    def by_study(self, submissions: Collection[str]) -> Mapping[str, Collection[str]]:
        """The submissions by the study at Prolific to which they belong. Raises RecruiterError."""
        if len(self.ids) == 1:
            return {self.ids[0]: submissions}
        theirs = {study: {one.id for one in self.client.submissions(study)} for study in self.ids}
        found = {study: [one for one in submissions if one in known] for study, known in theirs.items()}
        return {study: some for study, some in found.items() if some}

    def acts(self) -> Sequence[Act]:
        return [act for act in acts(self.database, self.name).values() if act.sessions]

    def payees(self) -> tuple[Payee, ...]:
        """The sessions that came from Prolific with an id of a submission."""
        found = payees(self.database, self.participants, self.name, self.clock.now_us())
        return tuple(one for one in found if one.recruiter == PROLIFIC and one.submission)


def recruited_at_prolific(
    settings: Settings, database: Database, client: Prolific, clock: Clock, participants: Participants, study: Study
) -> RecruitedStudy:
    """A study with its studies at Prolific. Raises NotPossible if it is not recruited by the API."""
    section, ids = study.file.prolific, recruited_studies(acts(database, study.name).values())
    if section is None or not ids:
        raise NotPossible(f"{study.name} is not at Prolific: parley recruit prolific {study.name} draft")
    most: Decimal = min(section.spend_limit, settings.prolific_spend_limit or section.spend_limit)
    return RecruitedStudy(database, participants, client, clock, study, ids, most)


@dataclass(frozen=True, slots=True)
class Review:
    payee: Payee
    todo: Todo
    why: str


def poll(recruited: RecruitedStudy) -> tuple[Submission, ...]:
    """Read all submissions of all its studies, and free the places of those that are over. Raises RecruiterError."""
    asked_us = recruited.clock.now_us() // 1_000_000 * 1_000_000  # webhooks may have whole seconds
    mark = recruited.participants.submission_mark
    found = tuple(one for study in recruited.ids for one in recruited.client.submissions(study))
    known = [one for one in found if one.status in LIFE]
    free_places(recruited, [Observation(mark(PROLIFIC, one.id), one.status, asked_us, "list") for one in known])
    return found


def free_places(recruited: RecruitedStudy, seen: Sequence[Observation] = ()) -> int:
    """Keep what was seen, and free the places of all sessions whose submissions are over."""
    people, name = recruited.participants, recruited.name
    with recruited.database.connect() as connection:
        found = {stream: people.reveal(stream) for stream in held(connection, name)}
    sessions = {stream: people.marks(name, person) for stream, person in found.items() if person}
    return observe(recruited.database, PROLIFIC, seen, sessions, recruited.clock.now_us())


def review(payee: Payee) -> Review:
    """Review a session by the rules: complete ones without a doubt are approved, and nothing is ever rejected."""
    if payee.status != AWAITING:
        todo: Todo = "wait" if payee.status in (*OPEN, "") else "nothing"
        return Review(payee, todo, payee.status.lower() or "nothing is known of it at Prolific yet")
    if payee.outcome == "complete":
        doubt = _doubt(payee)
        return Review(payee, "review" if doubt else "approve", doubt or "complete")
    if payee.outcome == "no_consent":
        return Review(payee, "ask to return", "did not consent")
    return Review(payee, "review", f"the session is not complete ({payee.outcome.replace('_', ' ')})")


def _doubt(payee: Payee) -> str:
    """Return the reason why a complete session is not approved by rule; empty if there is none."""
    reasons = {
        f"excluded: {payee.excluded}": payee.excluded is not None,
        "another session under this ID is paid": payee.second,
        "failed an attention check": payee.checks_failed > 0,
        f"flagged: {payee.flags.replace(',', ', ')}": bool(payee.flags),
    }
    return "; ".join(reason for reason, so in reasons.items() if so)


def to_approve(recruited: RecruitedStudy) -> tuple[Payee, ...]:
    """The sessions that the rule approves, and whose approval is not on its way."""
    since_us = recruited.clock.now_us() - SHOWS_WITHIN_US
    going = [
        act for act in recruited.acts()
        if (act.is_open and is_decision(act)) or (act.what == "approve" and act.sent_us > since_us)
    ]  # fmt: skip
    asked = {stream for act in going for stream in act.sessions}
    found = map(review, recruited.payees())
    return tuple(one.payee for one in found if one.todo == "approve" and one.payee.stream not in asked)


def is_decision(act: Act) -> bool:
    return act.what not in ("message", "bonuses")


def ask(
    recruited: RecruitedStudy, what: ActKind, payees: Sequence[Payee], who: str, text: str = "", category: str = ""
) -> None:
    """`text` is for the participants, `category` that of a rejection. Raises NotPossible."""
    fits, said = FITS.get(what), text.strip()
    if wrong := [payee for payee in payees if fits is not None and payee.status not in fits]:
        status = wrong[0].status.lower() or "unknown"
        raise NotPossible(f"Session {wrong[0].number:,} is {status} at Prolific, which does not allow: {what}.")
    if len(said) < SHORTEST.get(what, 0):
        least = SHORTEST[what]
        raise NotPossible(f"The text has {len(said)} characters, and needs {least}: the participant reads it.")
    if what == "reject" and category not in REJECTION_CATEGORIES:
        known = ", ".join(REJECTION_CATEGORIES)
        raise NotPossible(f"{category!r} is no category: {known}{suggestion(category, REJECTION_CATEGORIES)}")
    for start in range(0, len(payees), MOST_IDS):
        sessions = [payee.stream for payee in payees[start : start + MOST_IDS]]
        _ask(recruited, what, {"who": who, "sessions": sessions, "text": said, "category": category})


def numbered(recruited: RecruitedStudy, numbers: Collection[int]) -> tuple[Payee, ...]:
    """The sessions of these numbers. Raises NotPossible if one has no submission at Prolific."""
    found = {payee.number: payee for payee in recruited.payees()}
    if missing := [number for number in numbers if number not in found]:
        raise NotPossible(f"Session {missing[0]:,} has no submission at Prolific.")
    return tuple(found[number] for number in numbers)


def _ask(recruited: RecruitedStudy, what: ActKind, data: Mapping[str, Any]) -> None:
    """Write that something is asked for, unless a decision about one of its sessions is still on its way."""

    def fits(known: Collection[Act]) -> bool:
        going = [act for act in known if act.is_open and is_decision(act)]
        return what == "message" or all(set(data["sessions"]).isdisjoint(act.sessions) for act in going)

    asked = {"act": f"{what}-{secrets.token_hex(8)}", "what": what, **data}
    if not add_acts(recruited.database, recruited.name, [_asked(recruited, asked)], fits):
        raise NotPossible("An earlier decision about this submission is still on its way to Prolific.")


def _asked(recruited: RecruitedStudy, data: Mapping[str, Any]) -> ActEvent:
    return ActEvent("asked", data, recruited.clock.now_us(), "system" if data["who"] == RULE else "researcher")


@dataclass(frozen=True, slots=True)
class PlannedBonuses:
    """Of submissions of one `study` at Prolific, as it pays those of several only one after another."""

    study: str
    payments: tuple[Payment, ...]

    @property
    def total(self) -> Decimal:
        return sum((one.payee.due for one in self.payments), NOTHING)

    def by_submission(self, currency: str) -> dict[str, Money]:
        found: dict[str, Money] = {}
        for one in self.payments:
            due, submission = Money(one.payee.due, currency), one.payee.submission
            found[submission] = found[submission] + due if submission in found else due
        return found


def plan_bonuses(recruited: RecruitedStudy) -> PlannedBonuses:
    """Those due next, at most MOST_IDS: of submissions that await review or were approved. Raises RecruiterError."""
    found = recruited.payees()
    sorted_ = lists(found, {payee.id: payee.status for payee in found if payee.status})
    due = [Payment(payee, "") for theirs in sorted_.bonus.values() for payee in theirs]
    studies = recruited.by_study([one.payee.submission for one in due]) if due else {}
    study, submissions = next(iter(studies.items()), ("", ()))
    return PlannedBonuses(study, tuple(one for one in due if one.payee.submission in submissions)[:MOST_IDS])


def ask_bonuses(recruited: RecruitedStudy, agreed: str, who: str) -> Money:
    """Record bonuses as paid, and ask for their payment; returns the sum with Prolific's fees. The bonuses must be
    those of the sum that was `agreed`. Raises NotPossible, and RecruiterError."""

    def attempt() -> Money:
        if any(act.is_open and act.what == "bonuses" for act in recruited.acts()):
            raise NotPossible("An earlier payment of bonuses is not settled yet. Wait for it, then pay the next.")
        planned = plan_bonuses(recruited)
        if agreed.strip() != f"{planned.total:.2f}" or not planned.payments:
            raise NotPossible(f"The bonuses are {planned.total:.2f}, and not {agreed!r}. Look at them again.")
        return _record(recruited, planned, who)

    return repeated(recruited.name, attempt)


def _record(recruited: RecruitedStudy, planned: PlannedBonuses, who: str) -> Money:
    currency = recruited.currency()
    run = recruited.client.announce_bonuses(planned.study, planned.by_submission(currency))
    file, total = f"{API_PAYMENT}{run.id}", Money.of_cents(ceil(run.total_amount), currency)
    sessions, most = [one.payee.stream for one in planned.payments], Money(recruited.most, currency)
    asked = {"act": file, "what": "bonuses", "who": who, "run": run.id, "sessions": sessions, "cents": total.cents}
    event, payments = _asked(recruited, asked), [replace(one, file=file) for one in planned.payments]
    record(
        recruited.database, payments, file, event.at_us,
        lambda connection: append_acts(connection, recruited.name, [event], most),
    )  # fmt: skip
    return total


def carry_out(recruited: RecruitedStudy) -> Sequence[Act]:
    """Send what was asked for and is due, and settle what was sent before; the acts as they are then."""
    for act in recruited.acts():
        if act.is_open and act.due_us <= recruited.clock.now_us():
            _attempt(recruited, act)
    return recruited.acts()


def _attempt(recruited: RecruitedStudy, act: Act) -> None:
    """One attempt; nothing if another process makes it, or if Prolific does not say what is true."""
    found = [(stream, recruited.participants.reveal(stream)) for stream in act.sessions]
    people = {stream: person for stream, person in found if person}
    try:
        if act.is_uncertain and _is_done(recruited, act, people):
            _settle(recruited, act, act.attempts, "done", "its answer was lost")
            return
        before = _bonuses_of(recruited, people, list(people)[:PROBES]) if act.what == "bonuses" else {}
    except RecruiterError:
        return
    now_us, number = recruited.clock.now_us(), act.attempts + 1
    if act.is_uncertain and act.what == "bonuses" and now_us < act.sent_us + PAYS_WITHIN_US:
        return
    sent = ActEvent("sent", {"act": act.id, "attempt": number, "before": before}, now_us)
    if add_acts(recruited.database, recruited.name, [sent], lambda known: act in known):
        _send(recruited, act, number, list(people.values()))


def _send(recruited: RecruitedStudy, act: Act, number: int, people: Sequence[ParticipantId]) -> None:
    try:
        _request(recruited, act, people)
    except RecruiterRejected as error:
        if act.what == "bonuses" and not act.is_uncertain:
            _take_back(recruited, act)
        _settle(recruited, act, number, "refused", str(error))
    except RecruiterError as error:
        _settle(recruited, act, number, "lost" if error.uncertain else "failed", str(error))
    else:
        _settle(recruited, act, number, "done", "")


def _request(recruited: RecruitedStudy, act: Act, people: Sequence[ParticipantId]) -> None:
    """The request of an act; none if all its people have withdrawn, whose ids are erased."""
    client, data = recruited.client, act.data
    for submission in dict.fromkeys(person.submission for person in people):
        match act.what:
            case "reject":
                client.reject(submission, data["text"], data["category"])
            case "return":
                client.request_return(submission, [data["text"]])
            case _:
                break
    if act.what == "bonuses":
        client.pay_bonuses(data["run"])
    elif act.what == "approve" and people:
        client.approve([person.submission for person in people])
    elif act.what == "message" and people:
        _send_message(recruited, people, data["text"])


def _send_message(recruited: RecruitedStudy, people: Sequence[ParticipantId], text: str) -> None:
    for study, submissions in recruited.by_study([person.submission for person in people]).items():
        theirs = [person.id for person in people if person.submission in submissions]
        recruited.client.send_message(theirs, text, study)


def _is_done(recruited: RecruitedStudy, act: Act, people: Mapping[str, ParticipantId]) -> bool:
    """Return True if an act whose answer is lost was carried out. What does no harm twice is sent again; of what would
    and cannot be looked up (a message, bonuses of people whose ids are erased) it is assumed."""
    if act.what == "bonuses":
        now = _bonuses_of(recruited, people, [stream for stream in act.sent["before"] if stream in people])
        return not now or any(number > act.sent["before"][stream] for stream, number in now.items())
    return act.what == "message"


def _bonuses_of(
    recruited: RecruitedStudy, people: Mapping[str, ParticipantId], streams: Sequence[str]
) -> dict[str, int]:
    return {stream: len(recruited.client.submission(people[stream].submission).bonus_cents) for stream in streams}


def _take_back(recruited: RecruitedStudy, act: Act) -> None:
    """Record bonuses that Prolific refused as not paid, so that they are due again."""

    def attempt() -> None:
        undone = taken_back(recruited.payees(), act.id)
        record(recruited.database, undone, f"{act.id}-back", recruited.clock.now_us())

    repeated(recruited.name, attempt)


def _settle(recruited: RecruitedStudy, act: Act, number: int, result: Result, detail: str) -> None:
    settle(recruited.database, recruited.name, (act.id, number), result, detail, recruited.clock.now_us())
