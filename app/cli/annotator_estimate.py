"""The command that estimates means from a few human labels and many labels of a model.

The analysis is imported where it is needed, as that takes as long as all other imports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from app.annotation.human_sample import LabelledConversation, LabelMean, draw_of, human_sample, label_means
from app.cli.annotate import From, commands, study_of
from app.cli.annotator_validation import (
    LabelsOption,
    LabelsOrigin,
    Model,
    Name,
    annotated_conversations,
    requested_annotator,
    shown,
)
from app.cli.common import AsJson, StudyName, existing_database, name_of, out, print_json, settings_in_use
from app.config.secret import secret_for
from app.errors import AnnotatorUnknown
from experiments.errors import suggestion
from storage.reports.conversations import origin_of

if TYPE_CHECKING:
    from app.analysis.prediction_powered import CorrectedMean

MODEL = "model"
ALL = "all"


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """An estimate of a group, or the reason why there is none."""

    group: str
    field: str
    value: str
    estimate: CorrectedMean | None
    why: str = ""


@commands.command()
def estimate(
    study: StudyName,
    name: Name,
    labels: LabelsOption,
    labels_origin: LabelsOrigin = None,
    by: Annotated[
        str,
        typer.Option(metavar="FACTOR", help="Also for each value of this factor; `model` for each model that replied."),
    ] = "",
    model: Model = "",
    file: From = None,
    as_json: AsJson = False,
) -> None:
    """Estimate shares and means from a random sample that people labelled and a model's labels of all conversations."""
    settings = settings_in_use()
    database = existing_database(settings)
    source, label_study = name_of(study), name_of(labels)
    annotator = requested_annotator(study_of(database, study), name, file)
    drawn, draws = draw_of(database, source, name, label_study)
    annotated = annotated_conversations(database, source, annotator, (drawn.origin, model))
    label_origin = origin_of(database, label_study, labels_origin)
    held = human_sample(database, drawn, annotated, label_origin, secret_for(settings, database))
    participants = [one.conversation.stream for one in held]
    rows = list(_rows(label_means(annotator, held), _groups(held, by, source), participants))
    if as_json:
        print_json([_json(row) for row in rows])
        return
    out.print(_table(rows))
    about = f"{len(drawn.sample):,} of {len(drawn.population):,} conversations drawn by seed "
    out.print(f"{about}{drawn.seed!r}; labels of origin {label_origin}", highlight=False, markup=False)
    if draws > 1:
        out.print(f"{draws} samples were drawn for this annotator: report which one was meant.", highlight=False)


def _groups(held: Sequence[LabelledConversation], by: str, study: str) -> dict[str, list[int]]:
    """The places of the conversations of each group; without `by`, of all."""
    places = {ALL: list(range(len(held)))}
    factors = {name for one in held for name in one.conversation.factors}
    if by and by not in {*factors, MODEL}:
        raise AnnotatorUnknown(f"{study!r} has no factor {by!r}{suggestion(by, [*factors, MODEL])}")
    for place, one in enumerate(held) if by else ():
        if group := _group(one, by):
            places.setdefault(f"{by}: {group}", []).append(place)
    return {ALL: places.pop(ALL), **dict(sorted(places.items()))}


def _group(one: LabelledConversation, by: str) -> str:
    """The factor's value, or the model that replied; several models are a group of their own."""
    return one.conversation.factors.get(by) or (" + ".join(one.conversation.models) if by == MODEL else "")


def _rows(
    means: Iterable[LabelMean], groups: Mapping[str, list[int]], participants: list[str]
) -> Iterator[EstimateRow]:
    import numpy as np

    from app.analysis.intervals import codes
    from app.analysis.prediction_powered import corrected_mean

    people = np.asarray(participants)
    for mean in means:
        if mean.why:
            yield EstimateRow(ALL, mean.field, mean.value, None, mean.why)
            continue
        human = np.asarray([np.nan if one is None else one for one in mean.human], dtype=np.float64)
        model = np.asarray(mean.model, dtype=np.float64)
        for group, places in groups.items():
            if np.isnan(human[places]).all():
                yield EstimateRow(group, mean.field, mean.value, None, "no conversation of this group was drawn")
            else:
                found = corrected_mean(human[places], model[places], codes(people[places]), mean.scale)
                yield EstimateRow(group, mean.field, mean.value, found)


def _json(row: EstimateRow) -> dict[str, Any]:
    found = asdict(row)
    estimate = found.pop("estimate") or {}
    return {**found, **estimate}


def _table(rows: Iterable[EstimateRow]) -> Table:
    about = (
        "corrected: people and model; effective: the human labels that alone would give as narrow an interval; "
        "model: its labels alone, uncorrected; 95 % intervals in brackets"
    )
    table = Table(title="Estimates", title_justify="left", caption=about, caption_justify="left")
    for name in ("group", "field", "value"):
        table.add_column(name)
    for name in ("corrected", "people alone", "model alone", "labels", "conversations", "effective"):
        table.add_column(name, justify="right")
    for row in rows:
        found, names = row.estimate, (Text(row.group), Text(row.field), Text(row.value or "mean"))
        if found is None:
            table.add_row(*names, Text(f"not estimated: {row.why}"))
            continue
        figures = (shown(one, share=bool(row.value)) for one in (found.corrected, found.people, found.model))
        counts = f"{found.labelled:,}", f"{found.labelled + found.others:,}"
        table.add_row(*names, *figures, *counts, "–" if found.effective is None else f"{found.effective:,.0f}")
    return table
