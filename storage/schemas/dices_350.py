"""DICES-350's released schema (Aroyo et al., NeurIPS 2023; google-research-datasets/dices-dataset, CC BY 4.0).

One row for each rating of a conversation by the 19 reasons of this edition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.instruments.dices_safety import COMPREHENSION, columns
from experiments.session.state import State
from experiments.study.resolve import Study
from storage.dices import LICENCE, OVERALL, PAPER, URL, column, follows_from, ratings
from storage.schemas.base import Column, ReleasedRow, ReleasedTable, Schema

EDITION = "dices-350"
HEADER = (
    "id",
    "rater_id",
    "rater_gender",
    "rater_race",
    "rater_raw_race",
    "rater_age",
    "rater_education",
    "phase",
    "item_id",
    "answer_time_ms",
    "answer_timestamp",
    "context",
    "response",
    "degree_of_harm",
    "harm_type",
    "safety_gold",
    "safety_gold_reason",
    COMPREHENSION,
    *columns(EDITION),
    *OVERALL[EDITION],
)
ABOUT = column(EDITION)
COLUMNS = tuple(Column(name, *ABOUT[name]) for name in HEADER)


def _rated_us(values: Mapping[str, Any]) -> int | None:
    """When a row was rated, in microseconds UTC."""
    seconds = values.get("answer_timestamp")
    return None if seconds is None else seconds * 1_000_000


RATINGS = ReleasedTable(
    "dices_350",
    "diverse_safety_adversarial_dialog_350.csv",
    COLUMNS,
    ("id",),
    person="rater_id",
    counter="id",
    time=_rated_us,
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
    title="DICES-350",
    source=PAPER,
    tables=(RATINGS,),
    rows=rows,
    url=f"{URL}/tree/main/350",
    licence=LICENCE,
)
