"""The commands by which people check an annotator: a sample to label in the browser, and the agreement.

The analysis is imported where it is needed, as that takes as long as all other imports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from app.annotation.agreement import AnswerPairs, compare_answers
from app.annotation.annotators.base import Annotator
from app.annotation.annotators.registry import annotators
from app.annotation.validation_study import draw_sample, public_id, write_sample
from app.cli.annotate import From, commands, own_of, study_of
from app.cli.common import AsJson, OriginOption, StudyName, existing_database, name_of, out, print_json, settings_in_use
from app.clock import SystemClock
from app.config.secret import secret_for
from app.errors import AnnotatorUnknown
from app.studies.loader import load_study
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.label_samples import LabelSample, record_label_sample
from storage.registers.origins import Origin
from storage.reports.conversations import Conversation, among, annotated_in, conversations, origin_of

if TYPE_CHECKING:
    from app.analysis.annotator_agreement import FieldAgreement
    from app.analysis.intervals import Interval

Name = Annotated[str, typer.Option("--annotator", metavar="NAME", help="The annotator.")]
Model = Annotated[
    str, typer.Option("--model", metavar="NAME", help="Only annotations of this model, by its name in the data.")
]

LabelsOption = Annotated[
    str, typer.Option("--label-study", metavar="STUDY", help="The label study, by its name or file.")
]
LabelsOrigin = Annotated[
    Origin | None,
    typer.Option("--label-origin", metavar="ORIGIN", help="Only labels of this origin: person, bot or pilot."),
]


@commands.command()
def sample(
    study: StudyName,
    name: Name,
    to: Annotated[Path, typer.Option("-o", "--out", metavar="FOLDER", help="The folder for the label study.")],
    number: Annotated[int, typer.Option("-n", metavar="N", min=1, help="Number of conversations.")] = 50,
    seed: Annotated[
        str, typer.Option(metavar="SEED", help="The seed of the draw: the same seed gives the same sample.")
    ] = "1",
    model: Model = "",
    file: From = None,
    origin: OriginOption = None,
) -> None:
    """Draw a random sample of annotated conversations, and write a study in which people label them."""
    settings = settings_in_use()
    database = existing_database(settings)
    annotator = requested_annotator(study_of(database, study), name, file)
    pairs = annotated_conversations(database, name_of(study), annotator, (origin, model))
    secret = secret_for(settings, database)
    chosen = draw_sample([one for one, _ in pairs], number, seed, secret)
    path = write_sample(to, annotator, chosen, secret)
    label = load_study(str(path))
    population, ids = ([public_id(secret, one) for one in several] for several in ([one for one, _ in pairs], chosen))
    whose = origin_of(database, name_of(study), origin)
    drawn = LabelSample(label.name, name, model, whose, seed, tuple(sorted(population)), tuple(ids))
    record_label_sample(database, name_of(study), drawn, by="researcher", at_us=SystemClock().now_us())
    out.print(f"{path}: {len(chosen):,} of {len(pairs):,} conversations annotated with {name}", highlight=False)
    out.print(f"[dim]Next, let people label them: parley serve {escape(quote(str(path)))}[/dim]", highlight=False)
    for then in ("agreement", "estimate"):
        out.print(
            f"[dim]Then: parley annotate {then} {study} --annotator {name} --label-study {label.name}[/dim]",
            highlight=False,
        )


@commands.command()
def agreement(
    study: StudyName,
    name: Name,
    labels: LabelsOption,
    labels_origin: LabelsOrigin = None,
    model: Model = "",
    file: From = None,
    origin: OriginOption = None,
    as_json: AsJson = False,
) -> None:
    """Compute the agreement between an annotator and people, and among people, for each field."""
    settings = settings_in_use()
    database = existing_database(settings)
    annotator = requested_annotator(study_of(database, study), name, file)
    pairs = annotated_conversations(database, name_of(study), annotator, (origin, model))
    found = compare_answers(
        database, annotator, pairs, (name_of(labels), labels_origin), secret_for(settings, database)
    )
    compared = [(one, _verified(one)) for one in found]
    if as_json:
        print_json({one.field.name: asdict(about) if about else None for one, about in compared})
    else:
        out.print(_table(compared))


def requested_annotator(study: Study | None, name: str, file: Path | None) -> Annotator:
    """The annotator of that name, of Parley's, of the study's or of a file."""
    (found,) = annotators([name], own_of(study, file))
    return found


def annotated_conversations(
    database: Database, study: str, annotator: Annotator, which: tuple[str | None, str]
) -> list[tuple[Conversation, Mapping[str, Any]]]:
    """The conversations that were annotated, of an origin and by a model, each with what was found."""
    origin = origin_of(database, study, which[0])
    found = annotated_in(database, study, annotator.name, which[1] or None)
    held = conversations(database, study, origin, whole=annotator.whole)
    pairs = [(one, event.data["values"]) for one, event in among(held, found)]
    if not pairs:
        raise AnnotatorUnknown(
            f"{study!r} has no annotations by {annotator.name!r} (origin {origin}) yet. Run: parley annotate {study} "
            f"--annotator {annotator.name} --model MODEL"
        )
    return pairs


def _verified(one: AnswerPairs) -> FieldAgreement | None:
    """The agreement on a field; None for lists of free text."""
    from app.analysis.annotator_agreement import Pair, verified

    if not one.field.compared:
        return None
    options = tuple(one.field.options) if one.field.closed else ()
    return verified(one.field.name, [Pair(*pair) for pair in one.pairs], options)


def _table(pairs: Sequence[tuple[AnswerPairs, FieldAgreement | None]]) -> Table:
    about = "equal, kappa: annotator and people; alpha: among people; 95 % intervals in brackets"
    table = Table(title="Agreement", title_justify="left", caption=about, caption_justify="left")
    table.add_column("field")
    for name in ("labels", "conversations", "people", "equal", "kappa", "alpha"):
        table.add_column(name, justify="right")
    for one, found in pairs:
        if found is None:
            table.add_row(Text(one.field.name), *("",) * 3, Text("free text: not compared"))
            continue
        counts = (f"{number:,}" for number in (found.n, found.conversations, found.raters))
        figures = shown(found.agreement, share=True), shown(found.kappa), shown(found.people)
        table.add_row(Text(one.field.name), *counts, *figures)
    return table


def shown(found: Interval | None, *, share: bool = False) -> str:
    """A figure with its interval, as in a table."""
    from app.analysis.estimates import NUMBER, SHARE, Unit, format_interval, format_value

    if found is None:
        return "–"
    unit: Unit = SHARE if share else NUMBER
    sure = f" ({format_interval(found.low, found.high, unit)})" if found.low is not None else ""
    return f"{format_value(found.value, unit)}{sure}"
