"""`parley person`: one person's data and ID, withdrawal, and the periods after which IDs and data are deleted."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from app.cli.commands import group
from app.cli.common import AsJson, DryRun, Yes, argument, name_of, option, participants
from app.cli.printing import echo, show, warn
from app.cli.session import act_on
from app.clock import SystemClock
from app.session.retention import carry_out
from app.use_cases.sessions import delete_recruiter_id, export_person, require_paid
from app.use_cases.sessions import withdraw as withdraw_
from experiments.plural import count as how_many
from storage.accounts.roles import TERMINAL
from storage.db.private_files import writing
from storage.payments.retention import retention_plan, retention_plans
from storage.registers.studies import Studies
from storage.reports.person import PersonSessions, sessions_of_person, sessions_to_erase, write_person
from storage.reports.sessions import session_label

commands = group("person")
PersonId = Annotated[str, argument("ID", "A recruiter's ID, a session's ID, or an ID in exported data.")]
OnlyStudy = Annotated[str, option("--study STUDY", "Only in this study. Default: in all.")]


@commands.command("export")
def export(
    id_: PersonId,
    to: Annotated[Path, option("-o --out FILE", "The zip file to write.")],
    study: OnlyStudy = "",
) -> None:
    """Write all that is stored of one person, and nothing of anybody else, as JSON with a README. It is recorded in
    the audit log."""
    database, people = participants()
    found = sessions_of_person(database, people, id_, name_of(study) if study else "")
    data = export_person(database, people, found, TERMINAL, SystemClock())
    with writing(to) as file:
        write_person(data, file)
    echo(f"{to}: {len(found.streams)} of this person's sessions. It names the person: do not publish it.")
    _warn_of_doubtful(found)


@commands.command("delete-id")
def delete_id(id_: PersonId, study: OnlyStudy = "", yes: Yes = False) -> None:
    """Delete a person's recruiter ID and the link to their data. The data stay, and can no longer be found by the ID.

    While a bonus is not paid, nothing is deleted. Backups and payment files may still have the ID.
    """
    database, people = participants()
    found = sessions_of_person(database, people, id_, name_of(study) if study else "")
    require_paid(database, people, found)
    if not yes:
        typer.confirm(f"Delete the recruiter ID of {how_many(len(found.streams), 'session')} permanently?", abort=True)
    deleted = delete_recruiter_id(database, people, found, TERMINAL, SystemClock())
    echo(f"Sessions that have lost their recruiter ID: {deleted:,}.")
    _warn_of_doubtful(found)


def _warn_of_doubtful(sessions: PersonSessions) -> None:
    if sessions.doubtful:
        warn(
            f"Left out, as they may be another person's: {', '.join(sessions.doubtful)}. Nothing proves the ID of "
            "these sessions. If you are sure of one, give its session's ID."
        )


@commands.command("withdraw")
def withdraw(person: PersonId, study: OnlyStudy = "", yes: Yes = False) -> None:
    """Erase a participant's data: the events and rows of their sessions.

    A tombstone stays; later exports leave the sessions out. Files exported earlier still contain them: export again.
    """
    database, people = participants()
    found = sessions_to_erase(database, people, person, name_of(study) if study else "")
    labels = {stream: session_label(database, stream) for stream in found}
    if not yes:
        typer.confirm(f"Erase {', '.join(labels.values())} permanently?", abort=True)
    erased = act_on(database, partial(withdraw_, database=database, streams=found, who=TERMINAL))
    for stream, label in labels.items():
        echo(f"{label} {'was erased' if stream in erased else 'had been erased before'}.")


@commands.command("retention")
def retention(
    study: Annotated[str, argument("STUDY", "Only this study. Default: all.")] = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Delete recruiter IDs and data whose period has passed: a study's `keep_ids_for` and `keep_for`.

    `parley serve` and `parley up` do the same every day. What waits for the payment of a bonus is kept and listed.
    """
    database, people = participants()
    now_us = SystemClock().now_us()
    if study:
        plans = [retention_plan(database, people, Studies(database).newest(name_of(study)), now_us)]
    else:
        plans = [*retention_plans(database, people, now_us)]
    for plan in plans if not dry_run else ():
        act_on(database, lambda sessions, plan=plan: carry_out(sessions, database, plan, TERMINAL))  # type: ignore[misc]
    show([{**plan.as_json(), "deleted": not dry_run} for plan in plans], as_json)
