"""The commands by which people verify an annotator: a sample to label in the browser, and how far they agree.

The analysis is read where it is needed, as it takes half of the time in which the command line starts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from app.annotation.agreement import Compared, compared
from app.annotation.annotators.base import Annotator
from app.annotation.annotators.registry import annotators
from app.annotation.validation_study import drawn, write_sample
from app.cli.annotate import From, Origin, group, own_of, study_of
from app.cli.common import StudyName, name_of, out, settings_in_use
from app.config.secret import secret_for
from app.errors import AnnotatorUnknown
from app.studies.loader import load_study
from experiments.study.resolve import Study
from storage.db.engine import Database, open_database
from storage.reports.conversations import Conversation, among, annotated_in, conversations, origin_of

if TYPE_CHECKING:
    from app.analysis.annotator_agreement import Verified
    from app.analysis.intervals import Interval

Name = Annotated[str, typer.Option("--annotator", help="The annotator.")]
Model = Annotated[str, typer.Option("--model", help="Only what this model annotated, by its name in the data.")]


@group.command()
def sample(
    study: StudyName,
    name: Name,
    to: Annotated[Path, typer.Option("-o", "--out", help="The folder to write the label study into.")],
    number: Annotated[int, typer.Option("-n", min=1, help="How many conversations.")] = 50,
    seed: Annotated[str, typer.Option(help="What the draw is by: the same seed draws the same.")] = "1",
    model: Model = "",
    file: From = None,
    origin: Origin = None,
) -> None:
    """Draw annotated conversations at random and write a study in which people answer the same about them."""
    settings = settings_in_use()
    database = open_database(settings.database_url)
    annotator = _annotator(study_of(database, study), name, file)
    pairs = _annotated(database, name_of(study), annotator, (origin, model))
    secret = secret_for(settings, database)
    chosen = drawn([one for one, _ in pairs], number, seed, secret)
    path = write_sample(to, annotator, chosen, secret)
    label = load_study(str(path))
    out.print(f"{path}: {len(chosen):,} of {len(pairs):,} conversations annotated with {name}", highlight=False)
    out.print(f"[dim]parley serve {path} asks people about them; then[/dim]", highlight=False)
    out.print(
        f"[dim]parley annotate agreement {study} --annotator {name} --label-study {label.name}[/dim]", highlight=False
    )


@group.command()
def agreement(
    study: StudyName,
    name: Name,
    labels: Annotated[
        str, typer.Option("--label-study", help="The label study in which people answered, or its file.")
    ],
    labels_origin: Annotated[
        str | None,
        typer.Option("--label-origin", help="Whose labels: person, bot or pilot. People's, unless there are none."),
    ] = None,
    model: Model = "",
    file: From = None,
    origin: Origin = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of a table.")] = False,
) -> None:
    """Tell how far an annotator and people agree about a sample, and people among themselves, field by field."""
    settings = settings_in_use()
    database = open_database(settings.database_url)
    annotator = _annotator(study_of(database, study), name, file)
    pairs = _annotated(database, name_of(study), annotator, (origin, model))
    found = compared(database, annotator, pairs, (name_of(labels), labels_origin), secret_for(settings, database))
    told = [(one, _verified(one)) for one in found]
    if as_json:
        print(json.dumps({one.field.name: asdict(about) if about else None for one, about in told}, indent=2))
    else:
        out.print(_table(told))


def _annotator(study: Study | None, name: str, file: Path | None) -> Annotator:
    (found,) = annotators([name], own_of(study, file))
    return found


def _annotated(
    database: Database, study: str, annotator: Annotator, which: tuple[str | None, str]
) -> list[tuple[Conversation, Mapping[str, Any]]]:
    """The conversations that were annotated, of an origin and by a model, each with what was found."""
    origin = origin_of(database, study, which[0])
    found = annotated_in(database, study, annotator.name, which[1] or None)
    held = conversations(database, study, origin, whole=annotator.whole)
    pairs = [(one, event.data["values"]) for one, event in among(held, found)]
    if not pairs:
        raise AnnotatorUnknown(
            f"nothing of {study!r} (origin {origin}) is annotated with {annotator.name!r} yet: parley annotate {study} "
            f"--annotator {annotator.name} --model MODEL"
        )
    return pairs


def _verified(one: Compared) -> Verified | None:
    """The agreement on a field; none on lists of free words."""
    from app.analysis.annotator_agreement import Pair, verified

    if not one.field.compared:
        return None
    options = tuple(one.field.options) if one.field.closed else ()
    return verified(one.field.name, [Pair(*pair) for pair in one.pairs], options)


def _table(told: Sequence[tuple[Compared, Verified | None]]) -> Table:
    about = "equal, kappa: the annotator and people; alpha: people among themselves; in brackets 95 % intervals"
    table = Table(title="Agreement", title_justify="left", caption=about, caption_justify="left")
    table.add_column("field")
    for name in ("labels", "conversations", "people", "equal", "kappa", "alpha"):
        table.add_column(name, justify="right")
    for one, found in told:
        if found is None:
            table.add_row(Text(one.field.name), *("",) * 3, Text("free words: not compared"))
            continue
        counts = (f"{number:,}" for number in (found.n, found.conversations, found.raters))
        figures = _shown(found.agreement, share=True), _shown(found.kappa), _shown(found.people)
        table.add_row(Text(one.field.name), *counts, *figures)
    return table


def _shown(found: Interval | None, *, share: bool = False) -> str:
    from app.analysis.estimates import NUMBER, SHARE, Unit, between, written

    if found is None:
        return "–"
    unit: Unit = SHARE if share else NUMBER
    sure = f" ({between(found.low, found.high, unit)})" if found.low is not None else ""
    return f"{written(found.value, unit)}{sure}"
