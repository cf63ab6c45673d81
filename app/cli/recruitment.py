"""The commands that say who is where in a study, and who may begin: status, cap, pilot, pause, close, open."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.common import StudyName, Where, app, name_of, out, settings_in_use
from app.clock import WorldClock
from experiments.session.outcomes import OUTCOMES
from experiments.session.study_status import Decision, StudyState
from experiments.study.cells import parse_cell, standings
from experiments.study.recruitment import Cap
from experiments.study.resolve import Study
from experiments.views.quality_flags import SAME_ID
from storage.db.engine import Database, open_database
from storage.log.seats import Tally, cell_key, counted, meant
from storage.registers.origins import ORIGINS, Origin
from storage.registers.studies import Studies
from storage.registers.study_status import decide_on, operations_of
from storage.reports.monitoring.sessions import crowds, first_origin, odd, tally

STANDS: Mapping[StudyState, str] = {
    "draft": "A draft: nobody can begin until it is piloted or opened.",
    "pilot": "A pilot: who begins now is marked, and in no export unless asked for.",
    "paused": "Paused ({why}): nobody new can begin.",
    "closed": "Closed ({why}): nobody new can begin.",
}


def cell_of(study: Study, where: list[str] | None) -> dict[str, str]:
    """The cell that `--where` names."""
    return parse_cell(where or (), study.factors, study.pools)


@app.command(name="quota")
def cap(
    study: StudyName,
    most: Annotated[int | None, typer.Argument(metavar="[MOST]", help="How many; 0 lets nobody new in.", min=0)] = None,
    where: Where = None,
    none: Annotated[bool, typer.Option("--unlimited", help="As many as come.")] = False,
) -> None:
    """Say how many are wanted who complete a study or take part, in all or in a cell; 0 switches a cell off."""
    database = open_database(settings_in_use().database_url)
    found = Studies(database).newest(name_of(study))
    if most is not None or none:
        data = {"where": cell_of(found, where), "most": None if none else most}
        decide_on(database, found.name, "capped", data, by="researcher", at_us=WorldClock().now_us())
    caps = operations_of(database, found.name).caps_of(found.file.quotas)
    for held in caps:
        words = escape(cell_key(held.where)) or "all participants"
        out.print(f"{words}: {'nobody new' if not held.max else f'at most {held.max:,}'}", highlight=False)
    if not caps:
        out.print(
            f"No cap is set: parley quota {found.name} MOST [--where factor=value]", highlight=False, markup=False
        )


@app.command()
def pause(
    study: StudyName,
    why: Annotated[str, typer.Option("--reason", help="A note for yourself; participants do not read it.")] = "paused",
) -> None:
    """Let nobody new begin; those who have begun go on."""
    said = "Nobody new can begin. Those who have begun go on. `parley open` lets people begin again."
    _decide(study, "paused", {"why": why or "paused"}, said)


@app.command()
def close(
    study: StudyName,
    why: Annotated[str, typer.Option("--reason", help="A note for yourself; participants do not read it.")] = "closed",
) -> None:
    """End a study: nobody new can begin, and those who have begun go on."""
    said = "The study is closed: nobody new can begin. Those who have begun go on. `parley open` opens it again."
    _decide(study, "closed", {"why": why or "closed"}, said)


@app.command(name="open")
def open_(study: StudyName) -> None:
    """Let people begin: a draft, or after a pause, a pilot or the end; their data count."""
    _decide(study, "opened", {}, "People can begin, and their data count.")


@app.command()
def pilot(study: StudyName) -> None:
    """Let people try a study out: their data are marked as a pilot's, and are in no export unless asked for."""
    _decide(study, "piloted", {}, "Who begins from now on is a pilot participant. `parley open` begins the real study.")


def _decide(study: str, kind: Decision, data: Mapping[str, Any], said: str) -> None:
    database = open_database(settings_in_use().database_url)
    name = Studies(database).newest(name_of(study)).name
    decide_on(database, name, kind, data, by="researcher", at_us=WorldClock().now_us())
    out.print(said)
    if operations_of(database, name).published is None:
        out.print(f"[yellow]No version of {name} is published yet: parley publish FILE[/yellow]", highlight=False)


@app.command()
def status(
    study: StudyName,
    origin: Annotated[str, typer.Option(help="Whose sessions: person, pilot or bot.")] = Origin.PERSON,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Say how a study's sessions stand: each outcome, and each cell against its target."""
    database = open_database(settings_in_use().database_url)
    found = Studies(database).newest(name_of(study))
    with database.connect() as connection:
        there = crowds(
            connection, meant(found.name, origin, WorldClock().now_us(), found.file.session_limits.hold_place_s)
        )
    now, same_id = tally(there), odd(there).flags.get(SAME_ID, 0)
    held = operations_of(database, found.name)
    caps = held.caps_of(found.file.quotas) if origin == Origin.PERSON else ()
    if as_json:
        print(
            json.dumps(
                {"study": found.name, "state": held.state, **_told(now), SAME_ID: same_id}, indent=2, ensure_ascii=False
            )
        )
        return
    if held.state in STANDS:
        out.print(f"[yellow]{STANDS[held.state].format(why=escape(held.shut or ''))}[/yellow]")
    if not any(now.outcomes.values()):
        _others(database, found.name, origin)
    outcomes = Table("outcome", "sessions")
    for name in ("live", *OUTCOMES, "left"):
        outcomes.add_row(name.replace("_", " "), f"{now.outcomes.get(name, 0):,}")
    out.print(outcomes)
    if found.factors:
        out.print(_cells(found, now, caps))
    if same_id:
        out.print(
            f"[yellow]{same_id:,} began under a recruiter's id that another session had, in another browser (flag "
            f"{SAME_ID}): no proof says that both are the same person's.[/yellow]"
        )


def _others(database: Database, study: str, origin: str) -> None:
    """Say whose sessions there are where there are none of those that were asked for."""
    there = first_origin(database, study, (origin, *ORIGINS))
    if there != origin:
        out.print(f"[yellow]No session is of origin {origin}; these are: --origin {there}[/yellow]", highlight=False)


def _told(now: Tally) -> dict[str, Any]:
    cells = {cell_key(values): {"complete": done, "live": live} for values, done, live in now.cells}
    return {"outcomes": now.outcomes, "cells": cells}


def _cells(study: Study, now: Tally, caps: tuple[Cap, ...]) -> Table:
    """Each cell with who counts in it, and what its share of them would be."""
    table = Table("cell", "complete", "live", "target", "")
    for cell in standings(counted(study, now), caps):
        target = "" if cell.target is None else f"{cell.target:,.4g}"
        table.add_row(escape(cell_key(cell.values)), f"{cell.complete:,}", f"{cell.live:,}", target, cell.shut)
    return table
