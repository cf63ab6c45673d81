"""The commands that run annotators over finished conversations, and tell how far that is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from app.annotation.annotators.registry import ANNOTATORS, annotators
from app.annotation.run import Findings, Planned, Wanted, findings, forget, keep, planned, told
from app.backends.model_ref import asked
from app.batch.cost_estimate import Estimate, estimate
from app.batch.plan import Limits, Plan
from app.batch.progress_display import Display, show_summary
from app.batch.runner import run
from app.cli.common import StudyName, app, err, finish, name_of, out, settings_in_use
from app.cli.session_actions import act_on
from app.config.settings import Settings
from app.errors import AnnotatorUnknown
from app.session.service import AnnotationCount
from app.studies.loader import load_study, read_yaml
from experiments.errors import StudyError
from experiments.study.annotators import Annotating, AnnotatorsFile
from experiments.study.resolve import Study
from experiments.study.validation_errors import faults_of
from problems.errors import ParleyError
from storage.ai_alone.annotation_progress import annotated_by
from storage.db.engine import Database, open_database
from storage.registers.studies import Studies
from storage.reports.conversations import origin_of

RUN = "run"
REPLY_TOKENS = 60
"""About what an annotation takes, for `--dry-run`."""
MOST_WHYS = 5


class _Named(TyperGroup):
    """`parley annotate STUDY` is `parley annotate run STUDY`: a first word that is no command is a study."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is meant."""
        return super().resolve_command(ctx, args if args and args[0] in self.commands else [RUN, *args])


group = typer.Typer(
    cls=_Named,
    no_args_is_help=True,
    help="Annotate finished conversations with a model, as in `parley annotate STUDY --annotator NAME --model M`; "
    "sample some for people to check, and compute agreement.",
)
app.add_typer(group, name="annotate")


def _known() -> str:
    """The annotators that there are, for the help, which is there whatever ails a package."""
    try:
        return ", ".join(ANNOTATORS.all())
    except ParleyError:
        return "Parley's"


With = Annotated[
    str,
    typer.Option(
        "--annotator", help=f"Annotators, with commas: {_known()}, the study's own, or `--annotators-file`'s."
    ),
]
From = Annotated[
    Path | None, typer.Option("--annotators-file", help="A YAML file with `annotators:`, as in a study file.")
]
Origin = Annotated[
    str | None, typer.Option(help="Whose sessions: person, import, bot or pilot. People's, unless there are none.")
]
ModelOption = Annotated[
    str,
    typer.Option("--model", help="The model: one of the study's, or BACKEND:NAME[@SERVER]; an own one has its own."),
]


@group.command(RUN)
def run_(
    study: StudyName,
    names: With = "",
    model: ModelOption = "",
    file: From = None,
    origin: Origin = None,
    concurrency: Annotated[int, typer.Option(min=1, help="How many calls at once, for each server.")] = 32,
    budget: Annotated[
        float | None, typer.Option(min=0, help="The most that it may cost, by the study's prices.")
    ] = None,
    dry: Annotated[bool, typer.Option("--dry-run", help="Only tell how many calls, tokens and costs it is.")] = False,
) -> None:
    """Annotate every finished conversation that is not annotated yet, and write what was found as facts."""
    settings = settings_in_use()
    database = open_database(settings.database_url)
    name, meant = name_of(study), study_of(database, study)
    whose = origin_of(database, name, origin)
    plan = planned(database, name, whose, _wanted(meant, names, model, file))
    _tell_plan(plan, name, whose)
    asking = Plan(name, "annotate", plan.cells, told(meant.hash if meant is not None else "", plan, whose))
    if dry:
        _tell_estimate(estimate(database, asking, REPLY_TOKENS))
        return
    run_name = ""
    if plan.cells:
        keep(database, name, plan)
        run_name = _asked(database, settings, asking, Limits(concurrency=concurrency, budget=budget))
    found = findings(database, plan, run_name)
    done = act_on(database, lambda sessions: sessions.annotate(name, found.annotations))
    forget(database, name, plan)
    _tell_found(found, done)


def _asked(database: Database, settings: Settings, plan: Plan, limits: Limits) -> str:
    """Ask what is missing; the name of the run."""
    display = Display(err)
    with display.showing():
        ended = finish(run(database, settings, plan, limits, display))
    show_summary(out, ended)
    return ended.run


def study_of(database: Database, study: str) -> Study | None:
    """The study that is meant, from its file or as it was published; none where its data were imported."""
    if study.endswith((".yaml", ".yml")):
        return load_study(study)
    return Studies(database).newest(study) if Studies(database).has(study) else None


def own_of(study: Study | None, file: Path | None) -> dict[str, Annotating]:
    """The annotators of a study, and those of a file, which go before them; raises StudyError."""
    own = dict(study.file.annotators or {}) if study is not None else {}
    if file is None:
        return own
    raw = read_yaml(file)
    try:
        return own | AnnotatorsFile.model_validate(raw).annotators
    except ValidationError as error:
        raise StudyError(str(file), faults_of(error, raw)) from None


def _wanted(study: Study | None, names: str, model: str, file: Path | None) -> list[Wanted]:
    own = own_of(study, file)
    listed = [name.strip() for name in names.split(",") if name.strip()] or (list(own) if file else [])
    if not listed:
        there = ", ".join([*ANNOTATORS.all(), *own])
        raise AnnotatorUnknown(f"--annotator is missing: which annotators? There are {there}.")
    found = []
    for annotator in annotators(dict.fromkeys(listed), own):
        meant = model or (own[annotator.name].model if annotator.name in own else "")
        if not meant:
            raise AnnotatorUnknown(
                f"{annotator.name!r} has no model: give one by --model, of the study or BACKEND:NAME"
            )
        found.append((annotator, asked(study, meant)))
    return found


def _tell_plan(plan: Planned, study: str, origin: str) -> None:
    out.print(f"{study}: {len(plan.cells):,} annotations to ask for, of origin {origin}", highlight=False)
    if plan.known:
        out.print(f"  {len(plan.known):,} are known without asking", highlight=False)
    for (name, why), number in plan.lacking.items():
        out.print(f"  {name}: {number:,} conversations are left out: {why}", highlight=False, markup=False)


def _tell_estimate(found: Estimate) -> None:
    tokens = f"{found.prompt_tokens:,} tokens to read, about {found.completion_tokens:,} to write"
    out.print(f"  {found.left:,} calls now, {found.stored:,} replies are there; {tokens}", highlight=False)
    unpriced = f", without {', '.join(found.unpriced)}, whose price is not known" if found.unpriced else ""
    out.print(f"  cost about {found.cost:,.4f}{unpriced}", highlight=False, markup=False)


def _tell_found(found: Findings, done: AnnotationCount) -> None:
    out.print(f"{done.new:,} new annotations, {done.known:,} that were there", highlight=False)
    counts = {"unparsed": sum(found.unparsed.values()), "refused": found.refused, "failed": found.failed}
    counts |= {"not asked yet": found.missing, "of who withdrew": done.gone}
    for word, number in counts.items():
        if number:
            out.print(f"  {word}: {number:,}", highlight=False)
    for (name, why), number in sorted(found.unparsed.items(), key=lambda item: -item[1])[:MOST_WHYS]:
        out.print(f"    {name}: {number:,} x {why}", highlight=False, markup=False)


@group.command()
def status(study: StudyName) -> None:
    """Tell what was asked of whom, and what became of it: annotated, unparsed, refused, failed or not asked yet."""
    database = open_database(settings_in_use().database_url)
    table = Table(title="Annotations", title_justify="left")
    columns = ("asked", "annotated", "unparsed", "refused", "failed", "not yet", "cost")
    for name in ("annotator", "model"):
        table.add_column(name)
    for name in columns:
        table.add_column(name, justify="right")
    found = annotated_by(database, name_of(study))
    for one in found:
        counts = (one.asked, one.annotated, one.unparsed, one.refused, one.failed, one.missing)
        cost = "" if one.cost is None else f"{one.cost:,.2f}"
        table.add_row(
            Text(one.annotator), Text(one.model or "(nobody was asked)"), *(f"{count:,}" for count in counts), cost
        )
    out.print(table if found else "Nothing was annotated yet.")
