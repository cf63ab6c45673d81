"""How people check an annotator: a sample to label in the browser, and the agreement.

The analysis is imported where it is needed, as that takes as long as all other imports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from app.annotation.agreement import AnswerPairs, compare_answers
from app.annotation.annotators.base import Annotator
from app.annotation.annotators.registry import annotators
from app.annotation.validation_study import draw_sample, public_id, write_sample
from app.cli.annotate import From, commands, own_of, study_of
from app.cli.common import AsJson, OriginOption, Seed, StudyName, existing_database, name_of, option, settings_in_use
from app.cli.printing import echo, show
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

Name = Annotated[str, option("--annotator NAME", "The annotator.")]
Model = Annotated[str, option("--model NAME", "Only annotations of this model, by its name in the data.")]
LabelStudy = Annotated[str, option("--label-study STUDY", "The label study, by its name or file.")]
LabelOrigin = Annotated[
    Origin | None, option("--label-origin ORIGIN", "Only labels of this origin: person, bot or pilot.")
]


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
    path = write_sample(to, annotator, chosen, secret)
    label = load_study(str(path))
    population, ids = ([public_id(secret, one) for one in several] for several in ([one for one, _ in pairs], chosen))
    whose = origin_of(database, name_of(study), origin)
    drawn = LabelSample(label.name, name, model, whose, seed, tuple(sorted(population)), tuple(ids))
    record_label_sample(database, name_of(study), drawn, by="researcher", at_us=SystemClock().now_us())
    echo(f"{path}: {len(chosen):,} of {len(pairs):,} conversations annotated with {name}")
    echo(f"Next, let people label them: parley serve {quote(str(path))}")
    for then in ("agreement", "estimate"):
        echo(f"Then: parley annotate {then} {study} --annotator {name} --label-study {label.name}")


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
    show({field: asdict(about) if about else None for field, about in compared.items()}, as_json)


def _annotator(study: Study | None, name: str, file: Path | None) -> Annotator:
    (found,) = annotators([name], own_of(study, file))
    return found


def _annotated(
    database: Database, study: str, annotator: Annotator, origin: str | None, model: str
) -> list[tuple[Conversation, Mapping[str, Any]]]:
    origin = origin_of(database, study, origin)
    found = annotated_in(database, study, annotator.name, model or None)
    held = conversations(database, study, origin, whole=annotator.whole)
    pairs = [(one, event.data["values"]) for one, event in among(held, found)]
    if not pairs:
        raise AnnotatorUnknown(
            f"{study!r} has no annotations by {annotator.name!r} (origin {origin}) yet. Run: parley annotate run "
            f"{study} --annotator {annotator.name} --model MODEL"
        )
    return pairs


def _verified(one: AnswerPairs) -> FieldAgreement | None:
    """The agreement on a field; None for lists of free text."""
    from app.analysis.annotator_agreement import Pair, verified

    if not one.field.compared:
        return None
    options = tuple(one.field.options) if one.field.closed else ()
    return verified(one.field.name, [Pair(*pair) for pair in one.pairs], options)
