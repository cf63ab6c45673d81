"""The command that writes payment files: bonuses, approvals, and an overview of all sessions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from app.cli.commands import command
from app.cli.common import AsJson, DryRun, ProlificExport, StudyName, name_of, option, participants
from app.cli.printing import echo, show, warn, warn_of_rehearsal
from app.clock import SystemClock
from experiments.session.outcomes import OUTCOMES, end_page_of
from experiments.study.sections.recruitment import EndPage
from storage.payments.payment_files import REHEARSED, PaymentRequest, PaymentRun, run_payments
from storage.payments.payments import LIVE, WITHDRAWN, Payee
from storage.payments.prolific import PROLIFIC, statuses
from storage.registers.origins import Origin
from storage.registers.participants import ParticipantId
from storage.registers.studies import Studies

TO_DO = {
    "complete": "approve within 21 days; pay the bonus",
    "screened_out": "ask to return, or pay as screened out",
    "failed_attention": "reject by Prolific's rules, or ask to return",
    "no_consent": "ask to return",
    "timed_out": "pay a fair part by hand",
    "technical_failure": "pay a fair part by hand",
    LIVE: "not ended yet",
}
USE = {
    "prolific-bonus": "bulk bonus payments: upload and pay it once. A second time pays twice.",
    "prolific-approve": "IDs to approve in bulk.",
    "prolific-return": "IDs of participants who did not consent: ask them to return their submissions.",
    "prolific-screened-out": "IDs of participants screened out: ask them to return, or pay them as screened out.",
    "payments": "all sessions, with outcome, bonus and earlier payments. It has recruiters' IDs: do not publish it.",
}


@command("payments")
def payments(
    study: StudyName,
    to: Annotated[
        Path | None,
        option("-o --out FOLDER", "The folder to write; existing files are kept. Default: STUDY-payments-DATE."),
    ] = None,
    status: ProlificExport = None,
    pay_excluded: Annotated[
        bool | None,
        option(
            "--pay-excluded/--leave-out-excluded",
            "Whether complete sessions that a researcher excluded are in the lists. Asked at a terminal; otherwise "
            "they are left out.",
            show_default=False,
        ),
    ] = None,
    dry_run: DryRun = False,
    origin: Annotated[
        Literal["person", "rehearsal"],
        option("--origin ORIGIN", "person, or rehearsal: show what would be paid, and write nothing."),
    ] = "person",
    as_json: AsJson = False,
) -> None:
    """Bonuses in a file are recorded as paid, so the next run writes only new ones.

    Parley pays nobody: upload the files at Prolific, or pay by hand. Submissions that Prolific's export shows as
    returned, timed out or rejected get no bonus.
    """
    database, people = participants()
    found = Studies(database).newest(name_of(study))
    known, whose = statuses(status) if status else None, Origin(origin)
    dry_run = dry_run or whose == Origin.REHEARSAL
    folder = to or Path(f"{found.name}-payments-{datetime.now(UTC):%Y-%m-%d}")
    request = PaymentRequest(found.name, folder, known, dry_run, pay_excluded or False, whose)
    now_us = SystemClock().now_us()
    if pay_excluded is None and not dry_run and not as_json and sys.stdin.isatty():
        planned = run_payments(database, people, replace(request, dry=True), now_us)
        request = replace(request, pay_excluded=_ask_about_excluded(planned))
    run = run_payments(database, people, request, now_us)
    strangers = sum(not people.sessions(found.name, ParticipantId(PROLIFIC, id_)) for id_ in known or ())
    warnings = [*_about_earlier_runs(run), *_about_left_out(run, strangers)]
    if as_json:
        show({"sessions": _sessions(run), "files": _files(run, folder), "dry_run": dry_run, "warnings": warnings}, True)
        return
    warn_of_rehearsal(whose)
    show(_groups(run, end_page_of(found, WITHDRAWN, EndPage()).code), False)
    for text in warnings:
        warn(text)
    for file in _files(run, folder).values():
        echo(f"{file['path']}: {file['use']}")
    if dry_run:
        echo("Dry run: nothing was written or recorded.")
    else:
        echo(f"{len(run.payments):,} new bonuses are recorded as paid; no later file will have them.")


def _ask_about_excluded(planned: PaymentRun) -> bool:
    """Whether excluded sessions are to be paid, as somebody says at the terminal; not asked if there are none."""
    if not planned.lists.excluded:
        return False
    echo(_about_excluded(planned))
    return typer.confirm("Pay them as well?", default=False)


def _about_excluded(run: PaymentRun) -> str:
    each = "; ".join(
        f"session {payee.number:,}: {payee.excluded} ({max(payee.due, Decimal(0)):,.2f})"
        for payee in run.lists.excluded
    )
    return f"Complete, but excluded by a researcher and left out: {each}."


def _sessions(run: PaymentRun) -> list[dict[str, Any]]:
    written = {payment.payee.stream for payment in run.payments}
    return [
        {
            "session": payee.number,
            "recruiter": payee.recruiter,
            "outcome": payee.outcome,
            "bonus": payee.earned,
            "paid_before": payee.before,
            "in_new_files": payee.due if payee.stream in written else 0,
            "excluded": payee.excluded,
            "left_out": run.lists.left_out.get(payee.id)
            or ("excluded by a researcher" if payee in run.lists.excluded else None),
        }
        for payee in run.payees
    ]


def _files(run: PaymentRun, folder: Path) -> dict[str, dict[str, Any]]:
    uses = {name: next(kind for kind in USE if name.removeprefix(REHEARSED).startswith(kind)) for name in run.files}
    return {name: {"path": folder / name, "bonus": run.total(name), "use": USE[kind]} for name, kind in uses.items()}


def _groups(run: PaymentRun, withdrawn: str) -> list[dict[str, Any]]:
    """Sessions by recruiter and outcome, with their bonuses; `withdrawn` is the code of a withdrawal, if it has one."""
    known = f"find them by the code {withdrawn}" if withdrawn else "no code was set (outcomes.withdrawn)"
    to_do = {**TO_DO, WITHDRAWN: f"IDs are erased, {known}; ask to return, or pay by hand"}
    written = {payment.payee.stream for payment in run.payments}
    groups: dict[tuple[str, str], list[Payee]] = {}
    for payee in run.payees:
        groups.setdefault((payee.recruiter, payee.outcome), []).append(payee)
    order = [*OUTCOMES, LIVE]
    return [
        {
            "recruiter": recruiter,
            "outcome": outcome,
            "sessions": len(found := groups[recruiter, outcome]),
            "bonus": sum(payee.earned for payee in found),
            "paid_before": sum(payee.before for payee in found),
            "in_new_files": sum(payee.due for payee in found if payee.stream in written),
            "to_do": to_do[outcome],
        }
        for recruiter, outcome in sorted(groups, key=lambda group: (group[0], order.index(group[1])))
    ]


def _about_earlier_runs(run: PaymentRun) -> Iterator[str]:
    if run.moved:
        files = ", ".join(run.moved)
        yield f"An earlier run was stopped before it moved its files into the folder; now they are there: {files}."
    for hidden in run.swept:
        yield f"{hidden}: an earlier run was stopped before it recorded a payment. The folder was deleted."
    for hidden in run.busy:
        yield f"{hidden}: another run is in progress there."
    if over := sum(payee.due < 0 for payee in run.payees):
        yield f"Paid more than the bonus is now: {over:,} sessions. Nothing is deducted."


def _about_left_out(run: PaymentRun, strangers: int) -> Iterator[str]:
    """The complete sessions that are in no list for Prolific, and those to review first."""
    for reason, count in sorted(Counter(run.lists.left_out.values()).items()):
        yield f"Complete, but left out: {count} ({reason})."
    if run.lists.excluded:
        yield f"{_about_excluded(run)} To pay them as well: --pay-excluded"
    if second := _numbers(payee for payee in run.payees if payee.second):
        yield (
            f"Complete, but not paid: session {second}. Another session with the same ID is paid, and nothing proves "
            "that both are the same person's. Review them, and pay by hand if that is right."
        )
    if nobodys := _numbers(payee for payee in run.payees if payee.outcome == "complete" and not payee.id):
        yield (
            f"Complete, but without an ID, so in no list of a recruiter: session {nobodys}. `parley show status` shows "
            "which links had no usable ID."
        )
    if failed := sum(payee.checks_failed > 0 for payee in run.payees if payee.outcome == "complete"):
        yield f"{failed} complete sessions failed an attention check: review them before you approve."
    if strangers:
        yield f"{strangers} IDs of Prolific's export belong to no session of this study."


def _numbers(payees: Iterator[Payee]) -> str:
    return ", ".join(f"{payee.number:,}" for payee in payees)
