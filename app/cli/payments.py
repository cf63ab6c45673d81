"""The command that writes payment files: bonuses, approvals, and an overview of all sessions."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from app.cli.commands import command
from app.cli.common import AsJson, DryRun, StudyName, name_of, option, participants
from app.cli.printing import echo, show, warn, warn_of_rehearsal
from app.clock import SystemClock
from app.use_cases.pay import about_excluded, pay
from storage.payments.payment_files import PaymentRequest, PaymentRun
from storage.payments.prolific import statuses
from storage.payments.prolific_export import read_prolific
from storage.registers.origins import Origin
from storage.registers.studies import Studies


@command("payments")
def payments(
    study: StudyName,
    to: Annotated[
        Path | None,
        option("-o --out FOLDER", "The folder to write; existing files are kept. Default: STUDY-payments-DATE."),
    ] = None,
    status: Annotated[
        Path | None,
        option(
            "--prolific-export FILE",
            "Prolific's export of the study, a csv file: tells who completed it, and whose submission was returned.",
        ),
    ] = None,
    pay_excluded: Annotated[
        bool | None,
        option(
            "--pay-excluded/--leave-out-excluded",
            "Pay complete sessions that a researcher excluded, or leave them out. Asked at a terminal; otherwise they "
            "are left out.",
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

    Upload the files at Prolific, or pay by hand. With a token of Prolific's the console pays by its API instead.
    """
    database, people = participants()
    found = Studies(database).newest(name_of(study))
    known, whose = statuses(read_prolific(status)) if status else None, Origin(origin)
    dry_run = dry_run or whose == Origin.REHEARSAL
    folder = to or Path(f"{found.name}-payments-{datetime.now(UTC):%Y-%m-%d}")
    request = PaymentRequest(found.name, folder, known, dry_run, pay_excluded or False, whose)
    now_us = SystemClock().now_us()
    if pay_excluded is None and not dry_run and not as_json and sys.stdin.isatty():
        planned = pay(database, people, found, replace(request, dry=True), now_us).run
        request = replace(request, pay_excluded=_ask_about_excluded(planned))
    done = pay(database, people, found, request, now_us)
    hint = ["To pay those that were excluded as well: --pay-excluded"] if done.run.lists.excluded else []
    warnings = [*done.warnings, *hint]
    if as_json:
        files = {file.name: {"path": folder / file.name, "bonus": file.bonus, "use": file.use} for file in done.files}
        data = {"sessions": _sessions(done.run), "files": files, "median_minutes": done.median_minutes}
        show({**data, "dry_run": dry_run, "warnings": warnings}, True)
        return
    warn_of_rehearsal(whose)
    show(list(done.groups), False)
    if done.median_minutes is not None:
        echo(f"Median duration of completed sessions: {done.median_minutes:.1f} minutes")
    for text in warnings:
        warn(text)
    for file in done.files:
        echo(f"{folder / file.name}: {file.use}")
    if dry_run:
        echo("Dry run: nothing was written or recorded.")
    elif done.bonuses:
        echo(f"New bonuses recorded as paid: {len(done.run.payments):,}. No later file will have them.")


def _ask_about_excluded(run: PaymentRun) -> bool:
    """Ask at the terminal; False without excluded sessions."""
    if not run.lists.excluded:
        return False
    echo(about_excluded(run.lists.excluded))
    return typer.confirm("Pay them as well?", default=False)


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
            "left_out": run.lists.left_out.get(payee.stream)
            or ("excluded by a researcher" if payee in run.lists.excluded else None),
        }
        for payee in run.payees
    ]
