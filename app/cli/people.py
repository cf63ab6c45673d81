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
from app.session.service import Sessions
from storage.accounts.audit_log import AuditLog
from storage.accounts.roles import TERMINAL
from storage.datasets.describe.markdown import count as how_many
from storage.db.engine import Database
from storage.db.private_files import writing
from storage.errors import StorageError
from storage.log.erasure import unlink_identities
from storage.payments.retention import retention_plan, retention_plans, unpaid_streams
from storage.registers.participants import Participants
from storage.registers.studies import Studies
from storage.reports.person import PersonSessions, person_data, sessions_of_person, write_person
from storage.reports.sessions import find_sessions, not_found

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
    data = person_data(database, people, found, SystemClock().now_us())
    _audit(database, "exported a person's data", found)
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
    _refuse_unpaid(database, people, found)
    if not yes:
        typer.confirm(f"Delete the recruiter ID of {how_many(len(found.streams), 'session')} permanently?", abort=True)
    _audit(database, "deleted a recruiter ID", found)
    echo(f"Sessions that have lost their recruiter ID: {unlink_identities(database, found.streams):,}.")
    _warn_of_doubtful(found)


def _refuse_unpaid(database: Database, participants: Participants, found: PersonSessions) -> None:
    open_ = frozenset[str]().union(
        *(unpaid_streams(database, participants, name) for name in Studies(database).names())
    )
    unpaid = open_.intersection(found.streams)
    if unpaid:
        raise StorageError(
            f"a bonus for {', '.join(sorted(unpaid))} is not paid yet, and without the ID it never can be. Nothing was "
            "deleted. First: parley payments STUDY"
        )


def _warn_of_doubtful(found: PersonSessions) -> None:
    if found.doubtful:
        warn(
            f"Left out, as they may be another person's: {', '.join(found.doubtful)}. Nothing proves the ID of these "
            "sessions. If you are sure of one, give its session's ID."
        )


def _audit(database: Database, what: str, found: PersonSessions) -> None:
    AuditLog(database, SystemClock().now_us).record(TERMINAL, what, ", ".join(found.streams))


@commands.command("withdraw")
def withdraw(person: PersonId, study: OnlyStudy = "", yes: Yes = False) -> None:
    """Erase a participant's data: the events and rows of their sessions.

    A tombstone stays; later exports leave the sessions out. Files exported earlier still contain them: export again.
    """
    database, people = participants()
    found = find_sessions(database, people, person, name_of(study) if study else "")
    if not found:
        raise not_found(person)
    for stream in found:
        if not yes and not typer.confirm(f"Erase session {stream} permanently?"):
            continue
        erased = act_on(database, partial(Sessions.withdraw, stream=stream))
        echo(f"Session {stream} {'was erased' if erased else 'had been erased before'}.")


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
