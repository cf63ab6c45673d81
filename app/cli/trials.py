"""`parley trial`: preregister, look, explain.

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

from app.bots.preview_session import offline
from app.bots.simulate import START_US, simulate
from app.cli.commands import group
from app.cli.common import AsJson, StudyName, argument, existing_database, name_of, option, settings_in_use
from app.cli.printing import echo, show
from app.clock import SystemClock, VirtualClock
from app.config.secret import secret_for
from app.config.settings import Settings
from app.errors import TrialError
from app.session.service import SessionService
from experiments.errors import suggestion
from experiments.study.study import Study
from problems.errors import DISTRIBUTION
from storage.accounts.roles import TERMINAL
from storage.db.engine import Database, open_database
from storage.db.private_files import writing
from storage.registers.origins import Origin
from storage.registers.plan_events import record_preregistration, record_reason
from storage.registers.study_versions import current, readable
from storage.reports.analysis_data import flow

LOOKED = ("hypothesis", "claim", "effect", "low", "high", "p", "sides", "boundary", "crossed", "participants")
commands = group("trial")
REPORT, ANALYSIS, FROZEN = "simulated-report.md", "analysis.py", "study.json"


@commands.command("preregister")
def preregister(
    study: StudyName,
    to: Annotated[
        Path | None, option("-o --out FOLDER", "The folder for the files. Default: STUDY-preregistration.")
    ] = None,
    simulated: Annotated[
        int, option("--simulated N", "Simulated participants for the simulated report; 0 for none.", min=0)
    ] = 60,
    record: Annotated[
        bool, option("--record", "Record that this version is preregistered now, with the files' SHA-256.")
    ] = False,
) -> None:
    """Write the preregistration of a trial, and record it.

    The answers to OSF's form and AsPredicted's questions, the frozen study, the analysis code, and a report of
    simulated data.

    STUDY is published (`parley publish`); its current version is meant. Send the texts to a registry, then run the
    command again with `--record`, which keeps what you changed in the folder: from then on each change of the plan or
    the study, each exclusion and an early end is a deviation, and each look at an outcome is recorded.
    """
    database = existing_database()
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
    echo(f"{folder}: {', '.join(file.name for file in files)}")
    if not record:
        echo("Nothing was recorded. Once the texts are at a registry: the same command with --record.")
        return
    digests = {file.name: sha256(file.read_bytes()).hexdigest() for file in files}
    now_us = SystemClock().now_us()
    record_preregistration(database, found.name, found.hash, found.file.version, digests, at_us=now_us)
    echo(f"Recorded: version {found.file.version} ({found.hash[:12]}) is preregistered.")


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


@commands.command("look")
def look_(
    study: StudyName,
    unblind: Annotated[bool, option("--unblind", "Name the groups before the last look; this is recorded.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take the next look of the preregistered plan, once enough participants have completed. It is recorded.

    Groups are called A and B until the last look. A crossed boundary advises to stop; you decide (`parley recruit
    close`).
    """
    from app.analysis.trial.looks import look

    settings = settings_in_use()
    database = existing_database(settings)
    name = current(database, name_of(study)).name
    secret = secret_for(settings, database)
    taken, found = look(database, name, TERMINAL, SystemClock().now_us(), secret=secret, unblind=unblind)
    groups = "A minus B" if taken.result["blinded"] else "treatment minus control"
    results = [{field: getattr(one, field) for field in LOOKED} for one in found]
    show({"look": taken.number, "complete": taken.complete, "effect": groups, "hypotheses": results}, as_json)


@commands.command("explain")
def explain(
    study: StudyName,
    deviation: Annotated[str, argument("NAME", "A deviation, as `parley show deviations` names it.")],
    reason: Annotated[str, argument("REASON", "The reason, in a sentence.")],
) -> None:
    """Give the reason of a deviation from the preregistered plan; the report states it."""
    from app.analysis.trial.deviations import deviations

    database = existing_database()
    name = current(database, name_of(study)).name
    names = [one.name for one in deviations(database, name)]
    if deviation not in names:
        raise TrialError(f"{name} has no deviation {deviation!r}{suggestion(deviation, names)}")
    if not reason.strip():
        raise TrialError("The reason is missing: why the study deviates from its plan, in a sentence.")
    record_reason(database, name, deviation, reason.strip(), at_us=SystemClock().now_us())
