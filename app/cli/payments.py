"""The command that writes the files for whoever pays: bonuses, approvals, and an overview of how everybody ended."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.common import StudyName, app, name_of, out, settings_in_use
from app.clock import WorldClock
from app.config.secret import secret_for
from experiments.session.outcomes import OUTCOMES
from storage.db.engine import open_database
from storage.payments.payment_files import Run, Wish, pay_out
from storage.payments.payments import LIVE, Payee
from storage.payments.prolific import PROLIFIC, statuses
from storage.registers.participants import Participants, Person
from storage.registers.studies import Studies

TO_DO = {
    "complete": "approve within 21 days; pay the bonus",
    "screened_out": "ask to return, or pay as screened out",
    "failed_attention": "reject by Prolific's rules, or ask to return",
    "no_consent": "ask to return",
    "timed_out": "pay by hand what is fair",
    "technical_failure": "pay by hand what is fair",
    "withdrawn": "their ids are erased: find them by this outcome's code; ask to return, or pay by hand",
    LIVE: "not ended yet",
}
"""What is to be done for each outcome."""
USE = {
    "prolific-bonus": "bulk bonus payments: upload it once, and pay once. Paying it a second time pays twice.",
    "prolific-approve": "ids to approve in bulk.",
    "prolific-return": "ids of those who did not consent: ask them to return their submissions.",
    "prolific-screened-out": "ids of those screened out: ask them to return, or pay them as screened out.",
    "payments": "everybody, with outcome, bonus and what was paid before. It has recruiters' ids: do not publish it.",
}
"""What each file is for, by how its name begins."""


@app.command(name="payments")
def pay(
    study: StudyName,
    to: Annotated[Path, typer.Option("-o", "--out", help="The folder to write into; nothing in it is overwritten.")],
    status: Annotated[
        Path | None,
        typer.Option(
            "--prolific-export",
            help="Prolific's export of the study: who returned, timed out or was rejected gets no bonus.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say it: write nothing, record nothing.")] = False,
) -> None:
    """Write who is to be paid: Prolific's bonus file and lists, and an overview of all. What is written is recorded as
    paid, so that the next time only what is new is written.
    """
    settings = settings_in_use()
    database = open_database(settings.database_url)
    name = Studies(database).newest(name_of(study)).name
    people = Participants(database, secret_for(settings, database))
    known = statuses(status) if status else None
    run = pay_out(database, people, Wish(name, to, known, dry_run), WorldClock().now_us())
    out.print(_table(run))
    _tell_earlier(run, to)
    _tell_left_out(run)
    strangers = sum(not people.sessions(name, Person(PROLIFIC, id_)) for id_ in known or ())
    if strangers:
        out.print(f"[yellow]{strangers} ids of the status file belong to no session of this study.[/yellow]")
    _tell_files(run, to, dry_run)


def _table(run: Run) -> Table:
    """How sessions ended, by recruiter and outcome, with what they earned."""
    table = Table("recruiter", "outcome", "sessions", "bonus", "paid before", "in new files", "what to do")
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
        table.add_row(escape(recruiter), outcome, f"{len(found):,}", *money, TO_DO[outcome])
    return table


def _tell_earlier(run: Run, folder: Path) -> None:
    """What is in earlier files, and where more was paid than is earned."""
    files: dict[str, list[Decimal]] = {}
    for payee in run.payees:
        for file, amount in payee.paid.items():
            files.setdefault(file, []).append(amount)
    for file, amounts in sorted(files.items()):
        here = "" if (folder / file).is_file() else f" It is not in {folder}: look where it was written."
        _say(f"Earlier: {len(amounts):,} payments, {sum(amounts):,.2f} in all, were written into {file}.{here}")
    if run.moved:
        _say("A run was stopped before it had put its files in their places; now they are: " + ", ".join(run.moved))
    for hidden in run.swept:
        _say(f"{hidden}: a run was stopped before it paid. Nothing of it was recorded, and the folder is deleted.")
    for hidden in run.busy:
        _say(f"{hidden}: another run is at work there.")
    over = [payee for payee in run.payees if payee.due < 0]
    if over:
        _say(f"{len(over)} were paid more than they have earned by now; nothing is taken back from them.")


def _tell_left_out(run: Run) -> None:
    """Who is complete and in no list of Prolific's, and who needs a look before."""
    for reason, count in sorted(Counter(run.lists.left_out.values()).items()):
        _say(f"Left out, though complete here: {count} ({reason}).")
    second = [payee for payee in run.payees if payee.second]
    if second:
        numbers = ", ".join(f"{payee.number:,}" for payee in second)
        _say(
            f"Not paid by themselves, though complete: {len(second)} (session {numbers}). Another session of the same "
            "id is paid, and no proof says that both are the same person's. Look at them; pay by hand what is right."
        )
    failed = sum(payee.checks_failed > 0 for payee in run.payees if payee.outcome == "complete")
    if failed:
        _say(f"{failed} who are complete failed an attention check: look at them before you approve.")


def _tell_files(run: Run, folder: Path, dry: bool) -> None:
    """What each file is for."""
    for name, text in run.files.items():
        kind = next(kind for kind in USE if name.startswith(kind))
        lines = text.count("\n") - (kind == "payments")
        amount = f", {run.total(name):,.2f} in all" if run.total(name) else ""
        _say(f"{folder / name} ({lines:,} lines{amount}): {USE[kind]}")
    if dry:
        _say("A dry run: nothing was written, nothing was recorded.")
    elif run.payments:
        _say("These bonuses are now recorded as paid: no later file holds them.")
    else:
        _say("No bonus is due that is not in an earlier file.")


def _say(words: str) -> None:
    out.print(words, markup=False, highlight=False, soft_wrap=True)
