"""Pay: the payments, their files, and facts to know before uploading them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from experiments.plural import count as how_many
from experiments.session.outcomes import OUTCOMES, end_page_of
from experiments.study.sections.recruitment import EndPage
from experiments.study.study import Study
from experiments.views.quality_flags import UNREADABLE_ID
from storage.db.engine import Database
from storage.log.seats import COMPLETE, LEFT, LIVE
from storage.payments.payment_files import REHEARSED, PaymentRequest, PaymentRun, run_payments
from storage.payments.payments import WITHDRAWN, Payee
from storage.registers.contacts import PROLIFIC
from storage.registers.participants import ParticipantId, Participants

TO_DO = {
    "complete": "pay as you promised",
    "screened_out": "pay as you promised",
    "failed_attention": "review",
    "no_consent": "nothing",
    "timed_out": "pay a fair part by hand",
    "technical_failure": "pay a fair part by hand",
    "off_protocol": "pay a fair part by hand",
    WITHDRAWN: "pay by hand",
    LIVE: "not ended yet",
    LEFT: "nothing, unless they come back",
}
# What is done otherwise at Prolific.
AT_PROLIFIC = {
    "complete": "approve within 21 days",
    "screened_out": "ask to return, or pay as screened out",
    "failed_attention": "reject by Prolific's rules, or ask to return",
    "no_consent": "ask to return",
    WITHDRAWN: "ask to return, or pay by hand",
}
USE = {
    "prolific-bonus": "bulk bonus payments: upload and pay it once. A second time pays twice.",
    "prolific-approve": "IDs to approve in bulk.",
    "prolific-return": "IDs of participants who did not consent: ask them to return their submissions.",
    "prolific-screened-out": "IDs of participants screened out: ask them to return, or pay them as screened out.",
    "payments": "all sessions, with outcome, bonus and earlier payments. It has recruiters' IDs: do not publish it.",
}


@dataclass(frozen=True, slots=True)
class PaymentGroup:
    recruiter: str
    outcome: str
    sessions: int
    bonus: Decimal
    paid_before: Decimal
    in_new_files: Decimal
    to_do: str


@dataclass(frozen=True, slots=True)
class PaymentFile:
    name: str
    bonus: Decimal
    use: str


@dataclass(frozen=True, slots=True)
class Payments:
    """`bonuses`: the study has or had rules for them. `prolific`: people come, or came, from there."""

    bonuses: bool
    prolific: bool
    run: PaymentRun
    groups: tuple[PaymentGroup, ...]
    files: tuple[PaymentFile, ...]
    warnings: tuple[str, ...]

    @property
    def median_minutes(self) -> float | None:
        """Of the complete sessions, from their first click to their end; None if there are none."""
        minutes = [one.minutes for one in self.run.payees if one.outcome == COMPLETE and one.minutes is not None]
        return median(minutes) if minutes else None


def pay(database: Database, participants: Participants, study: Study, request: PaymentRequest, at_us: int) -> Payments:
    """Write and record new payments, unless the request is dry. Raises StorageError if the folder cannot be written."""
    run = run_payments(database, participants, request, at_us)
    strangers = count_strangers(participants, study.name, request.known or ())
    warnings = (*_about_earlier_runs(run), *_about_no_export(run, request), *_about_left_out(run, strangers))
    bonuses = bool(study.file.bonus) or any(one.earned or one.before for one in run.payees)
    prolific = PROLIFIC in (*study.file.recruitment.channels, *(one.recruiter for one in run.payees))
    code = end_page_of(study, WITHDRAWN, EndPage()).code
    groups = tuple(_groups(run, code, bonuses, request.pay_excluded))
    return Payments(bonuses, prolific, run, groups, tuple(_files(run)), warnings)


def count_strangers(participants: Participants, study: str, ids: Iterable[str]) -> int:
    """The number of Prolific's IDs that belong to no session of a study."""
    return sum(not participants.sessions(study, ParticipantId(PROLIFIC, id_)) for id_ in ids)


def about_excluded(payees: Iterable[Payee]) -> str:
    each = (f"session {one.number:,}: {one.excluded} ({max(one.due, Decimal(0)):,.2f})" for one in payees)
    return f"Complete, but excluded by a researcher and left out: {'; '.join(each)}."


def _groups(run: PaymentRun, withdrawn: str, bonuses: bool, pay_excluded: bool) -> Iterator[PaymentGroup]:
    """The groups in the outcomes' order; `withdrawn` is the code of a withdrawal, or empty."""
    known = f"find them by the code {withdrawn}" if withdrawn else "no code was set (outcomes.withdrawn)"
    written = {payment.payee.stream for payment in run.payments}
    groups: dict[tuple[str, str], list[Payee]] = {}
    for payee in run.payees:
        groups.setdefault((payee.recruiter, payee.outcome), []).append(payee)
    order = [*OUTCOMES, LIVE, LEFT]
    for recruiter, outcome in sorted(groups, key=lambda group: (group[0], order.index(group[1]))):
        found = groups[recruiter, outcome]
        earned, before = sum(one.earned for one in found), sum(one.before for one in found)
        new = sum(one.due for one in found if one.stream in written)
        sums = (Decimal(earned), Decimal(before), Decimal(new))
        what = (AT_PROLIFIC if recruiter == PROLIFIC else TO_DO).get(outcome, TO_DO[outcome])
        what = f"IDs are erased, {known}; {what}" if outcome == WITHDRAWN else what
        if outcome == COMPLETE:
            what = _of_complete(f"{what}; pay the bonus" if bonuses else what, found, pay_excluded)
        yield PaymentGroup(recruiter, outcome, len(found), *sums, what)


def _of_complete(what: str, found: Sequence[Payee], pay_excluded: bool) -> str:
    """Say what to do with complete sessions, of which excluded ones are paid only with `pay_excluded`."""
    excluded = 0 if pay_excluded else sum(one.excluded is not None for one in found)
    left_out = [f"nothing to pay for {excluded:,} that a researcher excluded"] if excluded else []
    return "; ".join([*([what] if excluded < len(found) else []), *left_out])


def _files(run: PaymentRun) -> Iterator[PaymentFile]:
    for name in run.files:
        kind = next(kind for kind in USE if name.removeprefix(REHEARSED).startswith(kind))
        yield PaymentFile(name, run.total(name), USE[kind])


def _about_earlier_runs(run: PaymentRun) -> Iterator[str]:
    if run.moved:
        files = ", ".join(run.moved)
        yield f"An earlier run was stopped before it moved its files into the folder; now they are there: {files}."
    for hidden in run.swept:
        yield f"{hidden}: an earlier run was stopped before it recorded a payment. The folder was deleted."
    for hidden in run.busy:
        yield f"{hidden}: another run is in progress there."
    if over := sum(payee.due < 0 for payee in run.payees):
        yield f"Paid more than the bonus is now: {how_many(over, 'session')}. Nothing is deducted."


def _about_no_export(run: PaymentRun, request: PaymentRequest) -> Iterator[str]:
    if request.known is None and (run.lists.bonus or run.lists.approve):
        yield (
            "Prolific's export is not given, so whoever returned, timed out or was rejected there is in the files too, "
            "unless their place was freed."
        )


def _about_left_out(run: PaymentRun, strangers: int) -> Iterator[str]:
    """The complete sessions that are in no list for Prolific, and those to review first."""
    for reason, count in sorted(Counter(run.lists.left_out.values()).items()):
        yield f"Complete, but left out: {count} ({reason})."
    if run.lists.excluded:
        yield about_excluded(run.lists.excluded)
    if second := _numbers(payee for payee in run.payees if payee.second):
        yield (
            f"Complete, but not paid: {second}. Another session with the same ID is paid, and nothing proves "
            "that both are the same person's. Review them, and pay by hand if that is right."
        )
    nobodys = [payee for payee in run.payees if payee.outcome == "complete" and not payee.id]
    if nobodys:
        unread = any(UNREADABLE_ID in payee.flags.split(",") for payee in nobodys)
        why = " `parley show status` shows which links had no usable ID." if unread else ""
        yield f"Complete, but without an ID, so in no list of a recruiter: {_numbers(nobodys)}.{why}"
    if failed := sum(payee.checks_failed > 0 for payee in run.payees if payee.outcome == "complete"):
        sessions = how_many(failed, "complete session")
        yield f"{sessions} failed an attention check: review before you pay."
    if strangers:
        ids = how_many(strangers, "ID of Prolific's export belongs", "IDs of Prolific's export belong")
        yield f"{ids} to no session of this study."


def _numbers(payees: Iterable[Payee]) -> str:
    found = [f"{payee.number:,}" for payee in payees]
    return f"{'session' if len(found) == 1 else 'sessions'} {', '.join(found)}" if found else ""
