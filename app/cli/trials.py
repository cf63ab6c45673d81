"""The commands of a trial: preregister, look, deviations.

The analysis is imported where it is needed, as that takes as long as all other imports.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.table import Table

from app.bots.preview_session import offline
from app.bots.simulate import START_US, simulate
from app.cli.commands import command
from app.cli.common import AsJson, StudyName, existing_database, iso, name_of, out, print_json, settings_in_use
from app.clock import SystemClock, VirtualClock
from app.config.secret import secret_for
from app.config.settings import Settings
from app.errors import TrialError
from app.session.service import SessionService
from app.web.console.formatting import format_time
from experiments.errors import suggestion
from experiments.study.study import Study
from problems.errors import DISTRIBUTION
from storage.accounts.roles import TERMINAL
from storage.db.engine import Database, open_database
from storage.db.private_files import writing
from storage.registers.origins import Origin
from storage.registers.plan_events import plan_events, record_preregistration, record_reason
from storage.registers.study_versions import current, readable
from storage.reports.analysis_data import flow

LOOKED = ("hypothesis", "claim", "effect", "low", "high", "p", "sides", "boundary", "crossed", "participants")
REPORT, ANALYSIS, FROZEN = "simulated-report.md", "analysis.py", "study.json"


@command("preregister")
def preregister(
    study: StudyName,
    to: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FOLDER", help="The folder for the files. Default: STUDY-preregistration."),
    ] = None,
    simulated: Annotated[
        int, typer.Option(metavar="N", min=0, help="Simulated participants for the simulated report; 0 for none.")
    ] = 60,
    record: Annotated[
        bool, typer.Option("--record", help="Record that this version is preregistered now, with the files' SHA-256.")
    ] = False,
) -> None:
    """Writes the answers to OSF's form and AsPredicted's questions, the frozen study, the analysis code, and a report
    of simulated data.

    STUDY is published (`parley publish`); its current version is meant. Send the texts to a registry, then run the
    command again with `--record`, which keeps what you changed in the folder: from then on each change of the plan or
    the study, each exclusion and an early end is a deviation, and each look at an outcome is recorded.
    """
    database = existing_database(settings_in_use())
    found = current(database, name_of(study))
    folder = to or Path(f"{found.name}-preregistration")
    if not (folder / FROZEN).exists():
        made = _files(database, found, simulated)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in made.items():
            with writing(folder / name) as file:
                file.write(text.encode())
    elif not record:
        raise TrialError(f"{folder} is there already, and you may have changed its texts. Delete it, or choose --out.")
    elif (folder / FROZEN).read_text(encoding="utf-8") != f"{found.document}\n":
        raise TrialError(f"{folder} is of another version than the published one. Write it anew: delete it first.")
    files = sorted(file for file in folder.iterdir() if file.is_file())
    out.print(f"{folder}: {', '.join(file.name for file in files)}", markup=False, highlight=False, soft_wrap=True)
    if not record:
        out.print("Nothing was recorded. Once the texts are at a registry: the same command with --record.")
        return
    digests = {file.name: sha256(file.read_bytes()).hexdigest() for file in files}
    now_us = SystemClock().now_us()
    record_preregistration(database, found.name, found.hash, found.file.version, digests, at_us=now_us)
    out.print(f"Recorded: version {found.file.version} ({found.hash[:12]}) is preregistered.", highlight=False)


def _files(database: Database, study: Study, simulated: int) -> Mapping[str, str]:
    """The files by name. Raises TrialError if the study has no plan."""
    from app.analysis.trial.planned_design import plan_of
    from app.analysis.trial.preregistration import CODE, ExistingData, aspredicted, markdown, osf

    plan_of(study)
    people, pilots = (flow(database, study.name, origin).arrived for origin in (Origin.PERSON, Origin.PILOT))
    names = ["study.yaml", FROZEN, ANALYSIS, *([REPORT] if simulated else [])]
    data = ExistingData(people, pilots)
    code = CODE.format(name=study.name, file=ANALYSIS, hash=study.hash, parley=version(DISTRIBUTION))
    return {
        "osf.md": markdown(study.file.title, osf(study, data, names)),
        "aspredicted.md": markdown(study.file.title, aspredicted(study, data, names)),
        "study.yaml": f"{readable(study)}\n",
        FROZEN: f"{study.document}\n",
        ANALYSIS: code,
        **({REPORT: asyncio.run(_simulated_report(study, simulated))} if simulated else {}),
    }


async def _simulated_report(study: Study, count: int) -> str:
    """The report of simulated participants, whose answers mean nothing, with the scripted model for every other."""
    from app.analysis.report import FORMATS, build_report

    free = offline(study)
    with TemporaryDirectory() as folder:
        clock = VirtualClock(START_US)
        database = open_database(f"sqlite:///{folder}/simulated.db")
        runtime = SessionService(database, Settings(), clock)
        try:
            runtime.studies.register(free)
            async for _ in simulate(runtime, clock, free, count, "preregister"):
                pass
            return FORMATS["md"](build_report(database, study.name, Origin.BOT, START_US))
        finally:
            await runtime.close()
            database.dispose()


@command("look")
def look_(
    study: StudyName,
    unblind: Annotated[
        bool, typer.Option("--unblind", help="Name the groups before the last look; this is recorded.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The next look of the preregistered plan, once enough participants have completed. It is recorded.

    Groups are called A and B until the last look. A crossed boundary advises to stop; you decide (`parley close`).
    """
    from app.analysis.trial.looks import look

    settings = settings_in_use()
    database = existing_database(settings)
    name = current(database, name_of(study)).name
    secret = secret_for(settings, database)
    taken, found = look(database, name, TERMINAL, SystemClock().now_us(), secret=secret, unblind=unblind)
    groups = "A minus B" if taken.result["blinded"] else "treatment minus control"
    if as_json:
        results = [{field: getattr(one, field) for field in LOOKED} for one in found]
        print_json({"look": taken.number, "complete": taken.complete, "effect": groups, "hypotheses": results})
        return
    table = Table("hypothesis", f"effect ({groups})", "interval", "p", "boundary", "participants", "advice")
    for one in found:
        boundary = "" if one.boundary is None else f"{one.boundary:.4f}"
        numbers = (
            f"{one.effect:.3f}",
            f"{one.low:.3f} to {one.high:.3f}",
            f"{one.p:.4f}{', one-sided' if one.sides == 1 else ''}",
            boundary,
        )
        table.add_row(one.hypothesis, *numbers, f"{one.participants:,}", "stop" if one.crossed else "go on")
    out.print(f"Look {taken.number} at {taken.complete:,} complete participants.", highlight=False)
    out.print(table)


@command("deviations")
def deviations_(
    study: StudyName,
    explain: Annotated[
        str, typer.Option(metavar="NAME", help="Give a deviation's reason, with --why. Names are in the list.")
    ] = "",
    why: Annotated[str, typer.Option(metavar="TEXT", help="With --explain: the reason.")] = "",
    as_json: AsJson = False,
) -> None:
    """Deviations from the preregistered plan, with dates and reasons: the report states each."""
    from app.analysis.trial.deviations import deviations

    database = existing_database(settings_in_use())
    name = current(database, name_of(study)).name
    found = deviations(database, name)
    if explain or why:
        names = [one.name for one in found]
        if explain not in names:
            raise TrialError(f"--explain: {name} has no deviation {explain!r}{suggestion(explain, names)}")
        if not why.strip():
            raise TrialError("--why is missing: the reason for the deviation, in a sentence")
        record_reason(database, name, explain, why.strip(), at_us=SystemClock().now_us())
        found = deviations(database, name)
    if as_json:
        print_json([{"name": one.name, "at": iso(one.at_us), "what": one.what, "reason": one.reason} for one in found])
        return
    if not plan_events(database, name).preregistrations:
        out.print(f"{name} is not preregistered: parley preregister {name}", highlight=False)
    elif not found:
        out.print("No deviations.")
    else:
        table = Table("name", "when (UTC)", "what", "why")
        for one in found:
            table.add_row(one.name, format_time(one.at_us), one.what, one.reason or "no reason given")
        out.print(table)
