"""The command that rehearses a study with simulated participants at the running server, and removes the rehearsal."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from app.cli.check import ModelsThatReply, confirm_calls
from app.cli.commands import command
from app.cli.common import (
    INTERRUPTED,
    AsJson,
    Seed,
    StudyName,
    Yes,
    existing_database,
    name_of,
    option,
    settings_in_use,
)
from app.cli.printing import echo, followed, show
from app.clock import SystemClock
from app.config.secret import secret_for
from app.use_cases.rehearse import RehearsalRequest, plan_rehearsal, play, takes
from app.use_cases.rehearse import remove as remove_
from app.use_cases.simulate import calls_servers
from experiments.plural import count
from storage.accounts.roles import TERMINAL
from storage.db.engine import Database
from storage.log.rehearsals import rehearsed_sessions
from storage.registers.studies import Studies


@command("rehearse")
def rehearse_(
    study: StudyName,
    count: Annotated[int, option("-n --count N", "Number of simulated participants.", min=1, max=10_000)] = 20,
    speed: Annotated[float, option("--speed X", "Speed, as a multiple of people's.", min=0.1, max=1000)] = 20.0,
    over: Annotated[
        float, option("--over MINUTES", "They arrive within this time, which the speed divides.", min=0)
    ] = 60.0,
    seed: Seed = "1",
    url: Annotated[
        str | None, option("--url URL", "The participants' server. Default: the server of the settings.")
    ] = None,
    models: ModelsThatReply = "study",
    fidelity: Annotated[
        bool,
        option(
            "--fidelity",
            "N participants an arm, who all stay; then show how far replies keep the study's `fidelity` rules.",
        ),
    ] = False,
    remove: Annotated[bool, option("--remove", "Remove all rehearsed sessions of the study.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """They arrive, read, type and answer at people's times, divided by the speed; some leave, come back or reload.

    Rehearsed sessions are never counted, exported or paid with real ones. The same command continues a rehearsal that
    was stopped.
    """
    settings = settings_in_use()
    database = existing_database(settings)
    found = Studies(database).newest(name_of(study))
    if remove:
        _remove(database, found.name, confirmed=yes, as_json=as_json)
        return
    request = RehearsalRequest(count, speed, over * 60, seed, models == "scripted", fidelity)
    plan = plan_rehearsal(database, secret_for(settings, database), found, request)
    address = (url or settings.address).rstrip("/")
    if models == "study" and calls_servers(found) and not (yes and as_json):
        show(asyncio.run(takes(plan, address, scripted=False)), as_json=False)
        confirm_calls(confirmed=yes)
    with followed(found.name, transient=False) as tell:
        told = asyncio.run(play(database, address, plan, tell))
    show(told, as_json)
    if not as_json:
        echo(f"Look at it: parley show status {found.name} --origin rehearsal, or Monitoring in the console.")
        echo(f"Remove it:  parley rehearse {found.name} --remove")
    if told.data["stopped"]:
        raise typer.Exit(INTERRUPTED)


def _remove(database: Database, study: str, *, confirmed: bool, as_json: bool) -> None:
    there = len(rehearsed_sessions(database, study))
    if there and not confirmed:
        typer.confirm(
            f"Remove {count(there, 'rehearsed session')} of {study} with all their data?", abort=True, err=True
        )
    show(remove_(database, study, TERMINAL, SystemClock()), as_json)
