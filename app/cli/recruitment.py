"""The commands for recruitment: status, quota, pilot, open, pause, close."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.commands import command
from app.cli.common import (
    AsJson,
    StudyName,
    Where,
    existing_database,
    iso,
    name_of,
    out,
    print_json,
    print_rehearsal,
    settings_in_use,
)
from app.cli.people import retention_lines
from app.clock import SystemClock
from app.config.secret import secret_for
from app.config.settings import Settings
from app.web.console.formatting import percent
from app.web.link_problem_texts import problem_rows
from experiments.session.outcomes import OUTCOMES, status_label
from experiments.session.study_status import Decision, StudyState
from experiments.study.cells import cell_statuses, parse_cell, wanted_overall
from experiments.study.sections.recruitment import Quota
from experiments.study.study import Study
from experiments.views.quality_flags import SAME_ID, UNREADABLE_ID
from storage.db.engine import Database
from storage.log.seats import SessionCounts, cell_key, counted, query_params
from storage.payments.retention import RetentionPlan, retention_plan
from storage.registers.link_problems import LinkProblem, link_problems
from storage.registers.origins import ORIGINS, QUOTAS_APPLY, Origin
from storage.registers.participants import Participants
from storage.registers.plan_events import plan_events
from storage.registers.studies import Studies
from storage.registers.study_status import operations_of, set_status
from storage.reports.monitoring.sessions import first_origin, flag_counts, session_groups, tally

STATES: Mapping[StudyState, str] = {
    "draft": "Draft: no session can start until the study is piloted or opened.",
    "pilot": "Pilot: new sessions are marked as pilot data, which exports leave out by default.",
    "paused": "Paused ({why}): no new session can start.",
    "closed": "Closed ({why}): no new session can start.",
}


def cell_of(study: Study, where: list[str] | None) -> dict[str, str]:
    """The cell that `--where` names."""
    return parse_cell(where or (), study.factors, study.pools)


@command("quota")
def cap(
    study: StudyName,
    most: Annotated[int | None, typer.Argument(metavar="N", help="The new quota; 0 stops new sessions.", min=0)] = None,
    where: Where = None,
    unlimited: Annotated[bool, typer.Option("--unlimited", help="Remove the quota.")] = False,
    as_json: AsJson = False,
) -> None:
    """The quota counts participants who completed the study or take part in it. Without N, all quotas are shown."""
    database = existing_database(settings_in_use())
    found = Studies(database).newest(name_of(study))
    if most is not None or unlimited:
        data = {"where": cell_of(found, where), "most": None if unlimited else most}
        set_status(database, found.name, "capped", data, by="researcher", at_us=SystemClock().now_us())
    caps = operations_of(database, found.name).quotas_of(found.file.quotas)
    if as_json:
        print_json([{"where": held.where, "quota": held.max} for held in caps])
        return
    for held in caps:
        words = escape(cell_key(held.where)) or "all participants"
        out.print(f"{words}: {'no new sessions' if not held.max else f'at most {held.max:,}'}", highlight=False)
    if not caps:
        out.print(f"No quota is set: parley quota {found.name} N [--where FACTOR=VALUE]", highlight=False, markup=False)


@command("pause")
def pause(
    study: StudyName,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="A note for researchers; participants do not see it.")
    ] = "paused",
) -> None:
    """`parley open` ends the pause."""
    done = "The study is paused: no new session can start. Running sessions continue. `parley open` ends the pause."
    _decide(study, "paused", {"why": reason or "paused"}, done)


@command("close")
def close(
    study: StudyName,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="A note for researchers; participants do not see it.")
    ] = "closed",
) -> None:
    """`parley open` opens the study again."""
    done = "The study is closed: no new session can start. Running sessions continue. `parley open` opens it again."
    _decide(study, "closed", {"why": reason or "closed"}, done)


@command("open")
def open_(study: StudyName) -> None:
    """Opens a draft, and a study that is piloted, paused or closed."""
    _decide(study, "opened", {}, "The study is open: sessions can start, and their data count.")


@command("pilot")
def pilot(study: StudyName) -> None:
    """Exports leave out pilot data by default."""
    _decide(
        study, "piloted", {}, "The study is piloted: new sessions are pilot data. `parley open` starts the real study."
    )


def _decide(study: str, kind: Decision, data: Mapping[str, Any], done: str) -> None:
    database = existing_database(settings_in_use())
    name = Studies(database).newest(name_of(study)).name
    set_status(database, name, kind, data, by="researcher", at_us=SystemClock().now_us())
    out.print(done)
    if operations_of(database, name).published is None:
        out.print(f"[yellow]No version of {name} is published yet: parley publish FILE[/yellow]", highlight=False)


@command("status")
def status(
    study: StudyName,
    origin: Annotated[
        Origin, typer.Option(metavar="ORIGIN", help="Only sessions of this origin: person, pilot, rehearsal or bot.")
    ] = Origin.PERSON,
    as_json: AsJson = False,
) -> None:
    """Cells are shown with the number of participants that the quotas want in them, and with their shares."""
    settings, now_us = settings_in_use(), SystemClock().now_us()
    database = existing_database(settings)
    found = Studies(database).newest(name_of(study))
    with database.connect() as connection:
        there = session_groups(
            connection, query_params(found.name, origin, now_us, found.file.session_limits.hold_place_s)
        )
    now, flagged = tally(there), flag_counts(there).flags
    same_id, problems = flagged.get(SAME_ID, 0), link_problems(database, found.name)
    held = operations_of(database, found.name)
    caps = held.quotas_of(found.file.quotas) if origin in QUOTAS_APPLY else ()
    plan = _retention(settings, database, found, now_us)
    trial = _trial(database, found.name)
    if as_json:
        told = {"wanted": wanted_overall(caps), **_counts_json(now)}
        ids = {SAME_ID: same_id, UNREADABLE_ID: flagged.get(UNREADABLE_ID, 0)}
        lost = [asdict(one) for one in problems]
        more = {"link_problems": lost, "retention": plan.as_json(), "trial": trial}
        print_json({"study": found.name, "state": held.state, **told, **ids, **more})
        return
    print_rehearsal(origin)
    if held.state in STATES:
        out.print(f"[yellow]{STATES[held.state].format(why=escape(held.closed_reason or ''))}[/yellow]")
    if not any(now.outcomes.values()):
        _others(database, found.name, origin)
    _print_counts(found, now, caps)
    _print_ids(same_id, problems)
    for line in retention_lines(plan):
        out.print(line, highlight=False)
    if trial:
        out.print(
            f"Preregistered {trial['preregistered']}: {trial['planned_looks']} planned looks, "
            f"{trial['unplanned_looks']} unplanned, {len(trial['deviations'])} deviations (`parley deviations "
            f"{found.name}`).",
            highlight=False,
        )


def _trial(database: Database, study: str) -> dict[str, Any]:
    """What is recorded about a trial's plan; empty for a study that is not preregistered."""
    events = plan_events(database, study)
    if not events.preregistrations:
        return {}
    from app.analysis.trial.deviations import deviations

    unplanned = sum(look.number is None for look in events.looks)
    return {
        "preregistered": iso(events.preregistrations[0].at_us),
        "planned_looks": len(events.looks) - unplanned,
        "unplanned_looks": unplanned,
        "deviations": [one.what for one in deviations(database, study)],
    }


def _retention(settings: Settings, database: Database, study: Study, now_us: int) -> RetentionPlan:
    """What a study keeps for a period; the secret, which payments need, is read only if there is a period."""
    if not study.file.keep_ids_for and not study.file.keep_for:
        return RetentionPlan(study.name, None, None)
    return retention_plan(database, Participants(database, secret_for(settings, database)), study, now_us)


def _print_counts(study: Study, now: SessionCounts, caps: tuple[Quota, ...]) -> None:
    outcomes = Table("status", "sessions")
    for name in ("live", *OUTCOMES, "left"):
        outcomes.add_row(status_label(name), f"{now.outcomes.get(name, 0):,}")
    out.print(outcomes)
    if (wanted := wanted_overall(caps)) is not None:
        done = now.outcomes.get("complete", 0)
        out.print(f"{done:,} of {wanted:,} participants wanted have completed the study.", highlight=False)
    if study.factors:
        out.print(_cells(study, now, caps))


def _print_ids(same_id: int, problems: tuple[LinkProblem, ...]) -> None:
    """Print what is unclear about recruiters' IDs: sessions under one ID, and the links of all origins without one."""
    if same_id:
        out.print(
            f"[yellow]{same_id:,} sessions have a recruiter's ID that another session had in another browser (flag "
            f"{SAME_ID}). Nothing proves that both are the same person's.[/yellow]"
        )
    if not problems:
        return
    table = Table("links without a usable ID", "parameter", "refused", "sessions started", "what to do")
    for one, why, advice in problem_rows(problems):
        table.add_row(why, escape(one.parameter), f"{one.refused:,}", f"{one.started:,}", advice)
    out.print(table)


def _others(database: Database, study: str, origin: str) -> None:
    """If there are no sessions of an origin, print which origin has some."""
    there = first_origin(database, study, (origin, *ORIGINS))
    if there != origin:
        out.print(
            f"[yellow]There are no sessions of origin {origin}, but of {there}: --origin {there}[/yellow]",
            highlight=False,
        )


def _counts_json(now: SessionCounts) -> dict[str, Any]:
    cells = {cell_key(values): {"complete": done, "live": live} for values, done, live in now.cells}
    return {"outcomes": now.outcomes, "cells": cells}


def _cells(study: Study, now: SessionCounts, caps: tuple[Quota, ...]) -> Table:
    """Each cell with its sessions, the number wanted, and its share beside the planned one."""
    table = Table("cell", "completed", "in progress", "wanted", "share", "planned", "")
    found = cell_statuses(counted(study, now), caps)
    total = sum(cell.complete + cell.live for cell in found)
    for cell in found:
        wanted = "" if cell.wanted is None else f"{cell.wanted:,.4g}"
        share = percent((cell.complete + cell.live) / total if total else None)
        planned = "" if cell.planned is None else percent(cell.planned)
        numbers = (f"{cell.complete:,}", f"{cell.live:,}", wanted, share, planned)
        table.add_row(escape(cell_key(cell.values)), *numbers, cell.shut)
    return table
