"""Everything that is found of a study: the findings of each schema that it fills, of one origin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import pandas as pd

from app.analysis.accuracy import COLUMNS as ANSWER_COLUMNS
from app.analysis.accuracy import TABLE as ANSWERS
from app.analysis.accuracy import accuracy
from app.analysis.agreement import agreement
from app.analysis.estimates import Finding
from app.analysis.preference import RANK_COLUMNS, VOTE_COLUMNS, VOTES, ranks, wins
from app.analysis.ratings import COLUMNS as RATING_COLUMNS
from app.analysis.ratings import TABLE as INTERACTIONS
from app.analysis.ratings import ratings
from app.analysis.reading import SESSION, frame
from storage.dices import OVERALL
from storage.engine import Database
from storage.reading import recorded

Analyse = Callable[[pd.DataFrame], tuple[Finding, ...]]


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is made of a released table, and which of its columns that needs."""

    table: str
    columns: tuple[str, ...]
    analyse: Analyse


@dataclass(frozen=True, slots=True)
class Results:
    """What was found of a study's sessions of an origin; `analysed` are how many of them had any rows."""

    study: str
    origin: str
    schemas: tuple[str, ...]
    analysed: int
    findings: tuple[Finding, ...]


def _dices(edition: str) -> Analysis:
    columns = tuple(reversed(OVERALL[edition]))
    analyse = partial(agreement, columns=columns, edition=edition)
    return Analysis(edition.replace("-", "_"), ("rater_id", "item_id", *columns), analyse)


def _conversations(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    return ratings(interactions) + ranks(interactions)


ANALYSES: Mapping[str, Analysis] = MappingProxyType(
    {
        "chatbench": Analysis(ANSWERS, ANSWER_COLUMNS, accuracy),
        "mathconverse": Analysis(INTERACTIONS, tuple(dict.fromkeys((*RATING_COLUMNS, *RANK_COLUMNS))), _conversations),
        "arena": Analysis(VOTES, VOTE_COLUMNS, wins),
        "dices-350": _dices("dices-350"),
        "dices-990": _dices("dices-990"),
    }
)
"""What is made of each schema."""


def results(database: Database, study: str, origin: str) -> Results:
    """Compute everything of a study, without the sessions that were excluded; bounded by the rows of its tables."""
    fills = tuple(name for name in recorded(database, study) if name in ANALYSES)
    found: list[Finding] = []
    analysed: set[str] = set()
    for name in fills:
        wanted = ANALYSES[name]
        data = frame(database, study, wanted.table, origin, columns=wanted.columns)
        found += wanted.analyse(data)
        analysed |= set(data[SESSION])
    return Results(study, origin, fills, len(analysed), tuple(found))
