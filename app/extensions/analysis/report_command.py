"""The command that writes a study's report: the numbers and figures of a paper.

The analysis is imported where it is needed, as that takes as long as all other imports.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.commands import command
from app.cli.common import (
    INTERRUPTED,
    STDOUT,
    StudyName,
    existing_database,
    name_of,
    option,
    require_folder,
    settings_in_use,
)
from app.cli.printing import echo, err, progress_bar, warn
from app.clock import SystemClock
from app.errors import FormatUnknown
from app.extensions.analysis.reads.study_data import origins_of
from experiments.errors import suggestion
from experiments.plural import count as how_many
from storage.accounts.roles import TERMINAL
from storage.db.private_files import writing
from storage.registers.origins import Origin

if TYPE_CHECKING:
    from app.extensions.analysis.report import Report

FORMS = ("html", "csv", "json")
# Those of the analysis, repeated so that the help does not import it.
PAPERS = ("chatbench",)

OriginChoice = Annotated[
    str | None,
    option(
        "--origin ORIGIN",
        "Only sessions of this origin. Default: the first of person, import, bot, pilot that the study has.",
    ),
]
Part = Annotated[
    str,
    option(
        "--part PART", "Only this part of an imported release, such as `pilot_1_no_incentives`. Default: its first."
    ),
]
PeekReason = Annotated[
    str,
    option(
        "--peek REASON",
        "Look at the outcomes of a preregistered study before its end; this is recorded, and the report states it.",
    ),
]


@command("report")
def report_(
    study: StudyName,
    to: Annotated[
        Path | None,
        option("-o --out FILE", "The file to write; `-` for standard output. Default: STUDY-report.html."),
    ] = None,
    form: Annotated[str, option("--format FORMAT", f"One of {', '.join(FORMS)}. Default: by the file's ending.")] = "",
    origin: OriginChoice = None,
    part: Part = "",
    unfinished: Annotated[bool, option("--unfinished", "Also analyse sessions that were not completed.")] = False,
    against: Annotated[
        str, option("--compare-with PAPER", f"Add the figures published in a paper: {', '.join(PAPERS)}.")
    ] = "",
    reason: PeekReason = "",
) -> None:
    """The report is an HTML page that needs no network and can be printed; or csv or JSON."""
    from app.extensions.analysis.chatbench.published import published_paper
    from app.extensions.analysis.report import FORMATS, build_report
    from app.use_cases.outcome_lock import look_now

    chosen = _format(form, to)
    require_folder(to)
    papers = published_paper(against) if against else None
    database, name = existing_database(settings_in_use()), name_of(study)
    shown = (found for found in origins_of(database, name) if found != Origin.REHEARSAL)
    shown_origin = origin or next(shown, Origin.PERSON)
    look_now(database, name, shown_origin, TERMINAL, "report", reason, SystemClock())
    try:
        about = (database, name, shown_origin, SystemClock().now_us())
        with progress_bar() as bar:
            bar.add_task("Computing the report", total=None)
            made = build_report(*about, paper=papers, part=part, unfinished=unfinished)
        content = FORMATS[chosen](made).encode()
        path = to or Path(f"{name}-report.{chosen}")
        if path == STDOUT:
            sys.stdout.buffer.write(content)
            return
        with writing(path) as file:
            file.write(content)
    except KeyboardInterrupt:
        err.print("Stopped. No report was written.")
        raise typer.Exit(INTERRUPTED) from None
    _print_summary(path, made)


def _format(wanted: str, to: Path | None) -> str:
    ending = to.suffix.removeprefix(".").lower() if to is not None else ""
    found = wanted or ending or FORMS[0]
    if found not in FORMS:
        where = "--format" if wanted else f"the ending of {to}"
        raise FormatUnknown(f"{where}: {found!r} is not a format of reports{suggestion(found, FORMS)}")
    return found


def _print_summary(path: Path, report: Report) -> None:
    number = sum(len(finding.estimates) for finding in report.results.findings)
    people = how_many(report.results.analysed, "participant")
    if report.origin == Origin.IMPORT and not report.flow.arrived:
        people = "rows that belong to no participant"
    echo(f"{path}: {how_many(number, 'figure')} of {people} ({report.whose})")
    if report.warning:
        warn(report.warning)
    if report.against is not None:
        echo(report.comparison_summary, "dim")
