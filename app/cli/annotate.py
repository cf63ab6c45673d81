"""`parley annotate`: models annotate finished conversations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

from pydantic import ValidationError

from app.annotation.annotators.base import Annotator
from app.annotation.annotators.registry import ANNOTATORS, annotators
from app.annotation.validation_study import (
    AnswerPairs,
    compare_answers,
    draw_sample,
    linked_picture,
    write_sample,
)
from app.batch.plan import RunLimits
from app.cli.commands import group
from app.cli.common import (
    AsJson,
    Concurrency,
    CostLimit,
    DryRun,
    OriginOption,
    Seed,
    StudyName,
    existing_database,
    finish,
    name_of,
    option,
    settings_in_use,
)
from app.cli.printing import echo, followed, show
from app.cli.session import sessions_of
from app.config.secret import secret_for
from app.errors import AnnotatorUnknown
from app.extension import needed
from app.studies.loader import load_study, read_yaml
from app.use_cases.model_runs import annotate, plan_annotating, wanted_annotators
from app.use_cases.tables import Tell, Told
from experiments.errors import StudyError
from experiments.study.checks.validation_errors import issues_of
from experiments.study.sections.annotators import AnnotatorsFile, AnnotatorSpec
from experiments.study.study import Study
from problems.errors import ParleyError
from storage.ai_alone.model_use import annotated_by
from storage.db.engine import Database
from storage.registers.origins import Origin
from storage.registers.session_pictures import picture_contents
from storage.registers.studies import Studies
from storage.reports.conversations import Conversation, among, annotated_in, conversations, origin_of

Name = Annotated[str, option("--annotator NAME", "The annotator.")]
Model = Annotated[str, option("--model NAME", "Only annotations of this model, by its name in the data.")]
LabelStudy = Annotated[str, option("--label-study STUDY", "The label study, by its name or file.")]
LabelOrigin = Annotated[
    Origin | None, option("--label-origin ORIGIN", "Only labels of this origin: person, bot or pilot.")
]

commands = group("annotate")


def _annotator_names() -> str:
    """The names of all annotators for the help, which must not fail because of a broken package."""
    try:
        return ", ".join(ANNOTATORS.all())
    except ParleyError:
        return "Parley's"


With = Annotated[
    str,
    option(
        "--annotator NAME,...",
        f"Annotators, separated by commas: {_annotator_names()}, the study's own, or those of --annotators-file.",
    ),
]
From = Annotated[Path | None, option("--annotators-file FILE", "A YAML file with `annotators:`, as in a study file.")]
ModelOption = Annotated[
    str,
    option(
        "--model MODEL",
        "A model of the study, or BACKEND:NAME[@SERVER]. An annotator of your own can name its model.",
    ),
]


@commands.command("run")
def run_(
    study: StudyName,
    names: With = "",
    model: ModelOption = "",
    file: From = None,
    origin: OriginOption = None,
    concurrency: Concurrency = 32,
    budget: CostLimit = None,
    dry_run: DryRun = False,
) -> None:
    """Annotate every finished conversation that has no annotation yet, and store the results as events.

    With --dry-run no call is made: calls, tokens and cost are estimated.
    """
    settings = settings_in_use()
    database = existing_database(settings)
    name, target = name_of(study), study_of(database, study)
    own = own_of(target, file)
    listed = [one.strip() for one in names.split(",") if one.strip()] or (list(own) if file else [])
    plan = plan_annotating(database, name, target, wanted_annotators(target, listed, model, own), origin)
    show(plan.takes(database, budget, plan.origin), False)
    if dry_run:
        return
    limits = RunLimits(concurrency=concurrency, budget=budget)

    async def work(tell: Tell) -> Told:
        async with sessions_of(database) as sessions:
            return await annotate(database, settings, sessions, plan, limits, tell)

    with followed(name, transient=False) as tell:
        told = finish(work(tell))
    show(told, False)


@commands.command("status")
def status(study: StudyName, as_json: AsJson = False) -> None:
    """Show the number of annotations by annotator, model and outcome."""
    show(annotated_by(existing_database(), name_of(study)), as_json)


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


@commands.command("sample")
def sample(
    study: StudyName,
    name: Name,
    to: Annotated[Path, option("-o --out FOLDER", "The folder for the label study.")],
    number: Annotated[int, option("-n --count N", "Number of conversations.", min=1)] = 50,
    seed: Seed = "1",
    model: Model = "",
    file: From = None,
    origin: OriginOption = None,
) -> None:
    """Draw a random sample of annotated conversations, and write a study in which people label them."""
    settings = settings_in_use()
    database = existing_database(settings)
    annotator = _annotator(study_of(database, study), name, file)
    pairs = _annotated(database, name_of(study), annotator, origin, model)
    secret = secret_for(settings, database)
    chosen = draw_sample([one for one, _ in pairs], number, seed, secret)
    path = write_sample(to, annotator, chosen, secret, partial(picture_contents, database))
    label = load_study(str(path))
    echo(f"{path}: {len(chosen):,} of {len(pairs):,} conversations annotated with {name}")
    echo(f"Next, let people label them: parley serve {quote(str(path))}")
    echo(f"Where a server runs already: parley publish {quote(str(path))}, then parley recruit open {label.name}")
    echo(f"Then: parley annotate agreement {study} --annotator {name} --label-study {label.name}")


@commands.command("agreement")
def agreement(
    study: StudyName,
    name: Name,
    labels: LabelStudy,
    label_origin: LabelOrigin = None,
    model: Model = "",
    file: From = None,
    origin: OriginOption = None,
    as_json: AsJson = False,
) -> None:
    """Compute the agreement on each field: equal labels and kappa between annotator and people, alpha among people.

    Fields of free text are not compared.
    """
    settings = settings_in_use()
    database = existing_database(settings)
    annotator = _annotator(study_of(database, study), name, file)
    pairs = _annotated(database, name_of(study), annotator, origin, model)
    found = compare_answers(database, annotator, pairs, (name_of(labels), label_origin), secret_for(settings, database))
    compared = {one.field.name: _verified(one) for one in found}
    if as_json:
        show({field: asdict(about) if about else None for field, about in compared.items()}, as_json)
    else:
        show([_row(field, about) for field, about in compared.items()], as_json)
        echo("In brackets: intervals of 95 %.")


def _annotator(study: Study | None, name: str, file: Path | None) -> Annotator:
    (found,) = annotators([name], own_of(study, file))
    return found


def _annotated(
    database: Database, study: str, annotator: Annotator, origin: str | None, model: str
) -> list[tuple[Conversation, Mapping[str, Any]]]:
    origin = origin_of(database, study, origin)
    found = annotated_in(database, study, annotator.name, model or None)
    held = conversations(database, study, origin, whole=annotator.whole, picture_text=linked_picture)
    pairs = [(one, event.data["values"]) for one, event in among(held, found)]
    if not pairs:
        raise AnnotatorUnknown(
            f"{study!r} has no annotations by {annotator.name!r} (origin {origin}) yet. Run: parley annotate run "
            f"{study} --annotator {annotator.name} --model MODEL"
        )
    return pairs


def _verified(pairs: AnswerPairs) -> Any:
    if not pairs.field.compared:
        return None
    options = tuple(pairs.field.options) if pairs.field.closed else ()
    verify = needed("annotator_agreement", "analysis")
    return verify(pairs.field.name, pairs.pairs, options)


def _row(field: str, about: Any) -> dict[str, Any]:
    """The text about the agreement on a field; `about` is None for one that is not compared or has no labels."""
    row: dict[str, Any] = {"field": field, "labels": about.n if about else 0}
    if about is None:
        return row
    alone = "needs two people" if about.raters < 2 else "undefined"
    return row | {
        "conversations": about.conversations,
        "people": about.raters,
        "equal labels": _told(about.agreement),
        "kappa with people": _told(about.kappa),
        "alpha among people": _told(about.people, alone),
    }


def _told(interval: Any, absent: str = "undefined") -> str:
    if interval is None:
        return absent
    if interval.low is None:
        return f"{interval.value:.2f} ({interval.why})"
    return f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
