"""The commands that annotate finished conversations with models, and show the progress."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.table import Table
from rich.text import Text

from app.annotation.annotators.registry import ANNOTATORS, annotators
from app.annotation.run import (
    AnnotationPlan,
    AnnotationResults,
    Wanted,
    collect_results,
    describe_plan,
    forget_unparsable,
    plan_annotations,
    save_annotations,
)
from app.backends.model_ref import parse_model_ref
from app.batch.cost_estimate import CostEstimate, estimate
from app.batch.plan import RunLimits, RunPlan
from app.batch.progress_display import ProgressDisplay, show_summary
from app.batch.runner import run
from app.cli.commands import Group, group
from app.cli.common import (
    AsJson,
    OriginOption,
    StudyName,
    err,
    existing_database,
    finish,
    name_of,
    out,
    print_json,
    settings_in_use,
)
from app.cli.session_actions import act_on
from app.config.settings import Settings
from app.errors import AnnotatorUnknown
from app.session.service import AnnotationCount
from app.studies.loader import load_study, read_yaml
from experiments.errors import StudyError
from experiments.study.checks.validation_errors import issues_of
from experiments.study.sections.annotators import AnnotatorsFile, AnnotatorSpec
from experiments.study.study import Study
from problems.errors import ParleyError
from storage.ai_alone.annotation_progress import annotated_by
from storage.datasets.describe.markdown import count as how_many
from storage.db.engine import Database
from storage.registers.studies import Studies
from storage.reports.conversations import origin_of

RUN = "run"
REPLY_TOKENS = 60
"""About what an annotation takes, for `--dry-run`."""
MOST_WHYS = 5


class _Annotate(Group):
    """`parley annotate STUDY` is `parley annotate run STUDY`: a first word that is not a command is a study."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command, which is `run` unless another one is named."""
        return super().resolve_command(ctx, args if args and args[0] in self.commands else [RUN, *args])


commands = group("annotate", cls=_Annotate)


def _annotator_names() -> str:
    """The names of all annotators for the help, which must not fail because of a broken package."""
    try:
        return ", ".join(ANNOTATORS.all())
    except ParleyError:
        return "Parley's"


With = Annotated[
    str,
    typer.Option(
        "--annotator",
        metavar="NAME,...",
        help=f"Annotators, separated by commas: {_annotator_names()}, the study's own, or those of --annotators-file.",
    ),
]
From = Annotated[
    Path | None,
    typer.Option("--annotators-file", metavar="FILE", help="A YAML file with `annotators:`, as in a study file."),
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="A model of the study, or BACKEND:NAME[@SERVER]. An annotator of your own can name its model.",
    ),
]


@commands.command(RUN)
def run_(
    study: StudyName,
    names: With = "",
    model: ModelOption = "",
    file: From = None,
    origin: OriginOption = None,
    concurrency: Annotated[int, typer.Option(metavar="N", min=1, help="Calls at a time, for each server.")] = 32,
    budget: Annotated[
        float | None, typer.Option(metavar="AMOUNT", min=0, help="Limit of the cost, by the study's prices.")
    ] = None,
    dry: Annotated[bool, typer.Option("--dry-run", help="Make no calls; estimate calls, tokens and cost.")] = False,
) -> None:
    """Annotate every finished conversation that has no annotation yet, and store the results as events."""
    settings = settings_in_use()
    database = existing_database(settings)
    name, target = name_of(study), study_of(database, study)
    whose_origin = origin_of(database, name, origin)
    plan = plan_annotations(database, name, whose_origin, _requested(target, names, model, file))
    _tell_plan(plan, name, whose_origin)
    asking = RunPlan(
        name, "annotate", plan.cells, describe_plan(target.hash if target is not None else "", plan, whose_origin)
    )
    if dry:
        _tell_estimate(estimate(database, asking, REPLY_TOKENS))
        return
    run_name = ""
    if plan.cells:
        save_annotations(database, name, plan)
        run_name = _run_annotations(database, settings, asking, RunLimits(concurrency=concurrency, budget=budget))
    found = collect_results(database, plan, run_name)
    done = act_on(database, lambda sessions: sessions.annotate(name, found.annotations))
    forget_unparsable(database, name, plan)
    _tell_found(found, done)


def _run_annotations(database: Database, settings: Settings, plan: RunPlan, limits: RunLimits) -> str:
    """Ask for the missing annotations, and return the name of the run."""
    display = ProgressDisplay(err)
    with display.showing():
        ended = finish(run(database, settings, plan, limits, display))
    show_summary(out, ended)
    return ended.run


def study_of(database: Database, study: str) -> Study | None:
    """The study from its file or as published; None if its data were imported."""
    if study.endswith((".yaml", ".yml")):
        return load_study(study)
    return Studies(database).newest(study) if Studies(database).has(study) else None


def own_of(study: Study | None, file: Path | None) -> dict[str, AnnotatorSpec]:
    """The annotators of a study, and those of a file, which go before them; raises StudyError."""
    own = dict(study.file.annotators or {}) if study is not None else {}
    if file is None:
        return own
    raw = read_yaml(file)
    try:
        return own | AnnotatorsFile.model_validate(raw).annotators
    except ValidationError as error:
        raise StudyError(str(file), issues_of(error, raw)) from None


def _requested(study: Study | None, names: str, model: str, file: Path | None) -> list[Wanted]:
    own = own_of(study, file)
    listed = [name.strip() for name in names.split(",") if name.strip()] or (list(own) if file else [])
    if not listed:
        there = ", ".join([*ANNOTATORS.all(), *own])
        raise AnnotatorUnknown(f"--annotator is missing. Available: {there}.")
    found = []
    for annotator in annotators(dict.fromkeys(listed), own):
        model_name = model or (own[annotator.name].model if annotator.name in own else "")
        if not model_name:
            raise AnnotatorUnknown(
                f"The annotator {annotator.name!r} has no model. Add --model: a model of the study, or BACKEND:NAME."
            )
        found.append((annotator, parse_model_ref(study, model_name)))
    return found


def _tell_plan(plan: AnnotationPlan, study: str, origin: str) -> None:
    out.print(f"{study}: {how_many(len(plan.cells), 'annotation')} to request, origin {origin}", highlight=False)
    if plan.known:
        out.print(f"  {len(plan.known):,} need no call", highlight=False)
    for (name, why), number in plan.lacking.items():
        out.print(f"  {name}: {how_many(number, 'conversation')} left out: {why}", highlight=False, markup=False)


def _tell_estimate(found: CostEstimate) -> None:
    tokens = f"{found.prompt_tokens:,} prompt tokens, about {found.completion_tokens:,} completion tokens"
    out.print(
        f"  {how_many(found.left, 'call')}, {how_many(found.stored, 'reply', 'replies')} stored; {tokens}",
        highlight=False,
    )
    unpriced = f", without {', '.join(found.unpriced)} (no price)" if found.unpriced else ""
    out.print(f"  cost about {found.cost:,.4f}{unpriced}", highlight=False, markup=False)


def _tell_found(found: AnnotationResults, done: AnnotationCount) -> None:
    out.print(f"{done.new:,} new annotations, {done.known:,} stored before", highlight=False)
    counts = {"unparsed": sum(found.unparsed.values()), "refused": found.refused, "failed": found.failed}
    counts |= {"not asked yet": found.missing, "of withdrawn participants": done.gone}
    for word, number in counts.items():
        if number:
            out.print(f"  {word}: {number:,}", highlight=False)
    for (name, why), number in sorted(found.unparsed.items(), key=lambda item: -item[1])[:MOST_WHYS]:
        out.print(f"    {name}: {number:,} x {why}", highlight=False, markup=False)


@commands.command()
def status(study: StudyName, as_json: AsJson = False) -> None:
    """Show the number of annotations by annotator, model and outcome."""
    database = existing_database(settings_in_use())
    found = annotated_by(database, name_of(study))
    if as_json:
        print_json([asdict(one) for one in found])
        return
    table = Table(title="Annotations", title_justify="left")
    columns = ("asked", "annotated", "unparsed", "refused", "failed", "not yet", "cost")
    for name in ("annotator", "model"):
        table.add_column(name)
    for name in columns:
        table.add_column(name, justify="right")
    for one in found:
        counts = (one.asked, one.annotated, one.unparsed, one.refused, one.failed, one.missing)
        cost = "" if one.cost is None else f"{one.cost:,.2f}"
        table.add_row(Text(one.annotator), Text(one.model or "(no model)"), *(f"{count:,}" for count in counts), cost)
    out.print(table if found else "Nothing has been annotated yet.")
