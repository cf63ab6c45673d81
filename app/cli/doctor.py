"""The command that checks the surroundings of Parley on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from shlex import quote
from typing import Annotated

import typer

from app.cli.commands import command
from app.cli.common import AsJson, any_study, argument, with_saved
from app.cli.logging_setup import set_up
from app.cli.printing import echo, show
from app.config import settings as configuration
from app.config.settings import Settings
from app.errors import SettingsError
from app.use_cases.doctor import Deployment, Diagnosis, examine, published
from problems.errors import ParleyError
from storage.db.database_url import sqlite_path
from storage.errors import StorageError

COLOURS = {"ok": "", "warning": "yellow", "problem": "red"}
FIRST = "Correct this setting; nothing else can be looked at before."


@command("doctor")
def doctor(
    studies: Annotated[
        list[str] | None,
        argument(
            "STUDY",
            "Study files, or names of studies that come with Parley or are in the database. Default: the published.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Settings, database, disks, public address, servers of models and tools, studies and alerts. It changes nothing,
    and costs nothing. The exit code is 1 if there is a problem."""
    found = list(_findings(studies or []))
    if as_json:
        show([{"area": area, **asdict(one)} for area, one in found], as_json)
    else:
        for area, one in found:
            echo(f"{one.level:<7} {area}: {one.what}", COLOURS[one.level])
            if one.to_do:
                echo(f"        {one.to_do}")
    if any(one.level == "problem" for _, one in found):
        raise typer.Exit(1)


def _findings(references: list[str]) -> Iterator[tuple[str, Diagnosis]]:
    try:
        settings = configuration.load()
        set_up(settings)
        sqlite_path(settings.database_url)
    except (SettingsError, StorageError, UnicodeError) as fault:
        first, *each = str(fault).splitlines()
        for line in each or [first]:
            yield "settings", Diagnosis("problem", line.strip(), FIRST)
        return
    deployment, problems = _deployment(settings, references)
    yield from (("studies", problem) for problem in problems)
    yield from examine(deployment)


def _deployment(settings: Settings, references: list[str]) -> tuple[Deployment, list[Diagnosis]]:
    studies, faults = [], []
    for reference in references:
        try:
            studies.append(any_study(reference, settings))
        except ParleyError as fault:
            faults.append(
                Diagnosis("problem", str(fault), f"`parley check {quote(reference)}` lists all errors of the study.")
            )
    try:
        known, database = with_saved(settings)
        if database is not None and not references:
            studies += published(database)
    except ParleyError:  # the check of the database says why
        return Deployment(settings, tuple(studies)), faults
    return Deployment(known, tuple(studies), database), faults
