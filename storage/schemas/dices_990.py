"""DICES-990's released schema (Aroyo et al., NeurIPS 2023; google-research-datasets/dices-dataset, CC BY 4.0).

One row for each rating of a conversation by the 24 reasons of this edition.
"""

from __future__ import annotations

from experiments.instruments.dices_safety import COMPREHENSION, columns
from experiments.session.state import State
from experiments.study.resolve import Study
from storage.dices import LICENCE, OVERALL, PAPER, URL, column, follows_from, ratings
from storage.schemas.base import Column, ReleasedRow, ReleasedTable, Schema

EDITION = "dices-990"
HEADER = (
    "id",
    "rater_id",
    "rater_gender",
    "rater_locale",
    "rater_race",
    "rater_race_raw",
    "rater_age",
    "rater_education",
    "phase",
    "item_id",
    "context",
    "response",
    "degree_of_harm",
    "harm_type",
    COMPREHENSION,
    *columns(EDITION),
    *OVERALL[EDITION],
)
ABOUT = column(EDITION)
COLUMNS = tuple(Column(name, *ABOUT[name]) for name in HEADER)

RATINGS = ReleasedTable(
    "dices_990",
    "diverse_safety_adversarial_dialog_990.csv",
    COLUMNS,
    ("id",),
    person="rater_id",
    counter="id",
    rules=(follows_from(EDITION),),
)


def rows(study: Study, state: State) -> list[ReleasedRow]:
    """The session's ratings by this edition's reasons, in order."""
    return [
        ReleasedRow(RATINGS.name, fact.seq, {column.sql: values[column.name] for column in COLUMNS})
        for fact, values in ratings(study, state, EDITION)
    ]


SCHEMA = Schema(
    name=EDITION,
    title="DICES-990",
    source=PAPER,
    tables=(RATINGS,),
    rows=rows,
    url=f"{URL}/tree/main/990",
    licence=LICENCE,
)
