"""The commands about people's rights: `person`, for one person's data and id, and `retention`, for periods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from app.cli.commands import command, group
from app.cli.common import AsJson, existing_database, iso, name_of, out, print_json, settings_in_use
from app.cli.session_actions import act_on
from app.clock import SystemClock
from app.config.secret import secret_for
from app.session.retention import carry_out, numbers
from storage.accounts.audit_log import AuditLog
from storage.accounts.roles import TERMINAL
from storage.datasets.describe.markdown import count as how_many
from storage.db.engine import Database
from storage.db.private_files import writing
from storage.errors import StorageError
from storage.log.erasure import unlink_identities
from storage.payments.retention import DueSession, RetentionPlan, retention_plan, retention_plans, unpaid_streams
from storage.registers.participants import Participants
from storage.registers.studies import Studies
from storage.reports.person import PersonSessions, person_data, sessions_of_person, write_person

person = group("person")
PersonId = Annotated[
    str, typer.Argument(metavar="ID", help="A recruiter's ID, a session's ID, or an ID in exported data.")
]
OnlyStudy = Annotated[str, typer.Option("--study", metavar="STUDY", help="Only in this study. Default: in all.")]


@person.command(name="export")
def person_export(
    id_: PersonId,
    to: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The zip file to write.")],
    study: OnlyStudy = "",
) -> None:
    """Write all that is stored of one person, and nothing of anybody else, as JSON with a README.

    Sessions under the same ID that may be another person's are left out and listed. It is recorded in the audit log.
    """
    database, people = _open()
    found = sessions_of_person(database, people, id_, name_of(study) if study else "")
    data = person_data(database, people, found, SystemClock().now_us())
    _audit(database, "exported a person's data", found)
    with writing(to) as file:
        write_person(data, file)
    out.print(f"{to}: {len(found.streams)} of this person's sessions. It names the person: do not publish it.")
    _doubtful(found)


@person.command(name="delete-id")
def person_delete_id(
    id_: PersonId,
    study: OnlyStudy = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete a person's recruiter ID and the link to their data. The data stay, and can no longer be found by the ID.

    While a bonus is not paid, nothing is deleted.
    """
    database, people = _open()
    found = sessions_of_person(database, people, id_, name_of(study) if study else "")
    _refuse_unpaid(database, people, found)
    if not yes:
        typer.confirm(f"Delete the recruiter ID of {how_many(len(found.streams), 'session')} permanently?", abort=True)
    _audit(database, "deleted a recruiter ID", found)
    count = unlink_identities(database, found.streams)
    have = "session has lost its" if count == 1 else "sessions have lost their"
    out.print(f"{count:,} {have} recruiter ID. Backups and payment files may still have it.")
    _doubtful(found)


def _refuse_unpaid(database: Database, people: Participants, found: PersonSessions) -> None:
    open_ = frozenset[str]().union(*(unpaid_streams(database, people, name) for name in Studies(database).names()))
    unpaid = open_.intersection(found.streams)
    if unpaid:
        raise StorageError(
            f"a bonus for {', '.join(sorted(unpaid))} is not paid yet, and without the ID it never can be. Nothing was "
            "deleted. First: parley payments STUDY"
        )


def _doubtful(found: PersonSessions) -> None:
    if found.doubtful:
        out.print(f"[yellow]Left out, as they may be another person's: {', '.join(found.doubtful)}[/yellow]")
        out.print("Nothing proves the ID of these sessions. If you are sure of one, give its session's ID.")


def _audit(database: Database, what: str, found: PersonSessions) -> None:
    AuditLog(database, SystemClock().now_us).record(TERMINAL, what, ", ".join(found.streams))


@command("retention")
def retention(
    study: Annotated[str, typer.Argument(metavar="[STUDY]", help="Only this study. Default: all.")] = "",
    dry: Annotated[bool, typer.Option("--dry-run", help="Only print what would be deleted.")] = False,
    as_json: AsJson = False,
) -> None:
    """A study's `keep_ids_for` and `keep_for` say for how long. `parley serve` and `parley up` do the same every day.

    What waits for the payment of a bonus is kept and listed.
    """
    database, people = _open()
    now_us = SystemClock().now_us()
    if study:
        plans = [retention_plan(database, people, Studies(database).newest(name_of(study)), now_us)]
    else:
        plans = [*retention_plans(database, people, now_us)]
    for plan in plans if not dry else ():
        act_on(database, lambda sessions, plan=plan: carry_out(sessions, database, plan, TERMINAL))  # type: ignore[misc]
    if as_json:
        print_json([{**plan.as_json(), "deleted": not dry} for plan in plans])
        return
    for line in _lines(plans, dry=dry):
        out.print(line, highlight=False)


def _lines(plans: Iterable[RetentionPlan], *, dry: bool) -> Iterable[str]:
    none = True
    for plan in plans:
        none = False
        yield f"{plan.study}: {retention_rule(plan)}"
        yield f"  {how_many(len(plan.ids), 'recruiter ID')} {_done(plan.ids, dry)} deleted{_which(plan.ids)}"
        yield f"  {how_many(len(plan.data), 'session')} {_done(plan.data, dry)} erased{_which(plan.data)}"
        if plan.unpaid:
            yield f"  [yellow]{len(plan.unpaid):,} kept, as a bonus is not paid yet{_which(plan.unpaid)}[/yellow]"
    if none:
        yield "No study has a period: set `keep_ids_for` or `keep_for` in its file and publish it."


def _done(sessions: Sequence[DueSession], dry: bool) -> str:
    return "would be" if dry else "was" if len(sessions) == 1 else "were"


def _which(sessions: Iterable[DueSession]) -> str:
    found = numbers(sessions)
    return f" (No. {found})" if found else ""


def retention_lines(plan: RetentionPlan) -> Iterable[str]:
    """What `parley status` prints of a study's periods; nothing if it has none."""
    if not plan.keep_ids_for and not plan.keep_for:
        return
    rule = retention_rule(plan)
    yield f"{rule[0].upper()}{rule[1:]} {_following(plan)}"
    if plan.ids or plan.data:
        due = f"{how_many(len(plan.ids), 'ID')} and {how_many(len(plan.data), 'session')}"
        yield f"[yellow]The period of {due} has passed. The running server deletes them, or parley retention.[/yellow]"
    if plan.unpaid:
        yield f"[yellow]{len(plan.unpaid):,} kept, as a bonus is not paid yet{_which(plan.unpaid)}[/yellow]"


def _following(plan: RetentionPlan) -> str:
    return f"The next period ends at {iso(plan.next_us)}." if plan.next_us else "No session waits for its end."


def retention_rule(plan: RetentionPlan) -> str:
    """The periods of a study in a sentence."""
    ids = f"recruiter IDs are kept for {plan.keep_ids_for}" if plan.keep_ids_for else "recruiter IDs are kept for ever"
    data = f"data for {plan.keep_for}" if plan.keep_for else "data for ever"
    return f"{ids}, {data} after the last activity in a session."


def _open() -> tuple[Database, Participants]:
    settings = settings_in_use()
    database = existing_database(settings)
    return database, Participants(database, secret_for(settings, database))
