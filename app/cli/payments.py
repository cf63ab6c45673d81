"""The command that writes payment files: bonuses, approvals, and an overview of all sessions."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.commands import command
from app.cli.common import (
    AsJson,
    StudyName,
    existing_database,
    name_of,
    out,
    print_json,
    print_rehearsal,
    settings_in_use,
)
from app.clock import SystemClock
from app.config.secret import secret_for
from experiments.session.outcomes import OUTCOMES, end_page_of
from experiments.study.sections.recruitment import EndPage
from storage.datasets.describe.markdown import count as how_many
from storage.payments.payment_files import REHEARSED, PaymentRequest, PaymentRun, run_payments
from storage.payments.payments import LIVE, WITHDRAWN, Payee
from storage.payments.prolific import PROLIFIC, statuses
from storage.registers.origins import Origin
from storage.registers.participants import ParticipantId, Participants
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
"""What to do for each outcome but a withdrawal."""
USE = {
    "prolific-bonus": "bulk bonus payments: upload and pay it once. A second time pays twice.",
    "prolific-approve": "IDs to approve in bulk.",
    "prolific-return": "IDs of participants who did not consent: ask them to return their submissions.",
    "prolific-screened-out": "IDs of participants screened out: ask them to return, or pay them as screened out.",
    "payments": "all sessions, with outcome, bonus and earlier payments. It has recruiters' IDs: do not publish it.",
}
"""What each file is for, by the beginning of its name."""


@command("payments")
def pay(
    study: StudyName,
    to: Annotated[
        Path, typer.Option("-o", "--out", metavar="FOLDER", help="The folder to write; existing files are kept.")
    ],
    status: Annotated[
        Path | None,
        typer.Option(
            "--prolific-export",
            metavar="FILE",
            help="Prolific's export: returned, timed-out and rejected submissions get no bonus.",
        ),
    ] = None,
    pay_excluded: Annotated[
        bool | None,
        typer.Option(
            "--pay-excluded/--leave-out-excluded",
            help="Whether complete sessions that a researcher excluded are in the lists. Asked at a terminal; "
            "otherwise they are left out.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the result; write and record nothing.")] = False,
    origin: Annotated[
        Literal["person", "rehearsal"],
        typer.Option(metavar="ORIGIN", help="person, or rehearsal: show what would be paid, and write nothing."),
    ] = "person",
    as_json: AsJson = False,
) -> None:
    """Bonuses in a file are recorded as paid, so the next run writes only new ones.

    Parley pays nobody: upload the files at Prolific, or pay by hand.
    """
    settings = settings_in_use()
    database = existing_database(settings)
    found = Studies(database).newest(name_of(study))
    name = found.name
    people = Participants(database, secret_for(settings, database))
    known = statuses(status) if status else None
    whose = Origin(origin)
    dry_run = dry_run or whose == Origin.REHEARSAL
    request = PaymentRequest(name, to, known, dry_run, pay_excluded or False, whose)
    now_us = SystemClock().now_us()
    if pay_excluded is None and not dry_run and not as_json and sys.stdin.isatty():
        request = replace(
            request, pay_excluded=_asked(run_payments(database, people, replace(request, dry=True), now_us))
        )
    run = run_payments(database, people, request, now_us)
    if as_json:
        print_json(_report(run, to, dry_run))
        return
    print_rehearsal(whose)
    out.print(_table(run, end_page_of(found, WITHDRAWN, EndPage()).code))
    _print_earlier(run, to)
    _print_left_out(run)
    strangers = sum(not people.sessions(name, ParticipantId(PROLIFIC, id_)) for id_ in known or ())
    if strangers:
        out.print(f"[yellow]{strangers} IDs of Prolific's export belong to no session of this study.[/yellow]")
    _print_files(run, to, dry_run)


def _asked(planned: PaymentRun) -> bool:
    """Whether excluded sessions are to be paid, as somebody says at the terminal; not asked if there are none."""
    if not planned.lists.excluded:
        return False
    _print_excluded(planned)
    return typer.confirm("Pay them as well?", default=False)


def _print_excluded(run: PaymentRun) -> None:
    """Print how many complete sessions are left out as they are excluded, with the reasons and what they would get."""
    left = run.lists.excluded
    if left:
        amount = sum((max(payee.due, Decimal(0)) for payee in left), Decimal(0))
        _say(
            f"Complete, but excluded by a researcher and left out: {len(left):,}, with {amount:,.2f} of bonus in total."
        )
        for payee in left:
            _say(f"  session {payee.number:,}: {payee.excluded} ({max(payee.due, Decimal(0)):,.2f})")


def _report(run: PaymentRun, folder: Path, dry: bool) -> dict[str, Any]:
    """The sessions without recruiters' IDs, and the files."""
    written = {payment.payee.stream for payment in run.payments}
    return {
        "sessions": [
            {
                "session": payee.number,
                "recruiter": payee.recruiter,
                "outcome": payee.outcome,
                "bonus": payee.earned,
                "paid_before": payee.before,
                "in_new_files": payee.due if payee.stream in written else 0,
                "excluded": payee.excluded,
                "left_out": run.lists.left_out.get(payee.id) or _excluded(payee, run),
            }
            for payee in run.payees
        ],
        "files": {name: {"path": folder / name, "bonus": run.total(name)} for name in run.files},
        "dry_run": dry,
    }


def _excluded(payee: Payee, run: PaymentRun) -> str | None:
    return "excluded by a researcher" if payee in run.lists.excluded else None


def _table(run: PaymentRun, withdrawn: str) -> Table:
    """Sessions by recruiter and outcome, with their bonuses; `withdrawn` is the code of a withdrawal, if it has one."""
    known = f"find them by the code {escape(withdrawn)}" if withdrawn else "no code was set (outcomes.withdrawn)"
    to_do = {**TO_DO, WITHDRAWN: f"IDs are erased, {known}; ask to return, or pay by hand"}
    table = Table("recruiter", "outcome", "sessions", "bonus", "paid before", "in new files", "to do")
    written = Counter(payment.payee.stream for payment in run.payments)
    groups: dict[tuple[str, str], list[Payee]] = {}
    for payee in run.payees:
        groups.setdefault((payee.recruiter, payee.outcome), []).append(payee)
    order = [*OUTCOMES, LIVE]
    for recruiter, outcome in sorted(groups, key=lambda group: (group[0], order.index(group[1]))):
        found = groups[recruiter, outcome]
        new = sum((payee.due for payee in found if payee.stream in written), Decimal(0))
        sums = (sum(payee.earned for payee in found), sum(payee.before for payee in found), new)
        money = (f"{amount:,.2f}" for amount in sums)
        table.add_row(escape(recruiter), outcome, f"{len(found):,}", *money, to_do[outcome])
    return table


def _print_earlier(run: PaymentRun, folder: Path) -> None:
    """Print what earlier files have, and overpayments."""
    files: dict[str, list[Decimal]] = {}
    for payee in run.payees:
        for file, amount in payee.paid.items():
            files.setdefault(file, []).append(amount)
    for file, amounts in sorted(files.items()):
        here = "" if (folder / file).is_file() else f" It is not in {folder}, but where it was written then."
        _say(f"Earlier: {len(amounts):,} payments, {sum(amounts):,.2f} in total, are in {file}.{here}")
    if run.moved:
        _say(
            "An earlier run was stopped before it moved its files into the folder; now they are there: "
            + ", ".join(run.moved)
        )
    for hidden in run.swept:
        _say(f"{hidden}: an earlier run was stopped before it recorded a payment. The folder was deleted.")
    for hidden in run.busy:
        _say(f"{hidden}: another run is in progress there.")
    over = [payee for payee in run.payees if payee.due < 0]
    if over:
        _say(f"Paid more than the bonus is now: {how_many(len(over), 'session')}. Nothing is deducted.")


def _print_left_out(run: PaymentRun) -> None:
    """Print the complete sessions that are in no list for Prolific, and those to review first."""
    for reason, count in sorted(Counter(run.lists.left_out.values()).items()):
        _say(f"Complete, but left out: {count} ({reason}).")
    if run.lists.excluded:
        _print_excluded(run)
        _say("  To pay them as well: --pay-excluded")
    second = [payee for payee in run.payees if payee.second]
    if second:
        numbers = ", ".join(f"{payee.number:,}" for payee in second)
        _say(
            f"Complete, but not paid: {len(second)} (session {numbers}). Another session with the same ID is paid, and "
            "nothing proves that both are the same person's. Review them, and pay by hand if that is right."
        )
    nobodys = [payee for payee in run.payees if payee.outcome == "complete" and not payee.id]
    if nobodys:
        numbers = ", ".join(f"{payee.number:,}" for payee in nobodys)
        _say(
            f"Complete, but without an ID, so in no list of a recruiter: {len(nobodys)} (session {numbers}). "
            "`parley status` shows which links had no usable ID."
        )
    failed = sum(payee.checks_failed > 0 for payee in run.payees if payee.outcome == "complete")
    if failed:
        _say(f"{failed} complete sessions failed an attention check: review them before you approve.")


def _print_files(run: PaymentRun, folder: Path, dry: bool) -> None:
    """Print what each file is for."""
    for name, text in run.files.items():
        kind = next(kind for kind in USE if name.removeprefix(REHEARSED).startswith(kind))
        lines = text.count("\n") - (kind == "payments")
        amount = f", {run.total(name):,.2f} in total" if run.total(name) else ""
        _say(f"{folder / name} ({lines:,} lines{amount}): {USE[kind]}")
    if dry:
        _say("Dry run: nothing was written or recorded.")
    elif run.payments:
        _say("These bonuses are now recorded as paid; no later file will have them.")
    else:
        _say("There is no new bonus to pay.")


def _say(words: str) -> None:
    out.print(words, markup=False, highlight=False, soft_wrap=True)
