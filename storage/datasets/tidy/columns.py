"""The tables of the tidy export: their files and columns.

Each table has one kind of thing a row (Wickham: Tidy Data. Journal of Statistical Software 59(10), 2014). All have
`participant` and `session`, and most have the columns of a place: where in the study it was, and about which problem.

`columns.csv` defines the columns. The values of `integrity` are evidence for review and no verdicts
(experiments/views/integrity.py). Three things depend on the study, so tables are made for its frozen versions: which id
`participant` is, a column for each factor in `sessions`, and the columns of `answers_wide`.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType

from experiments.events import Data
from experiments.session.outcomes import OUTCOMES, status_label
from experiments.session.seeded_random import public_id
from experiments.study.cells import factor_values
from experiments.study.fields import Checkbox, ChoiceField, Field, MultipleChoiceField, Number, Scale, Slider
from experiments.study.schema import Factor
from experiments.study.step import kinds
from experiments.study.study import Study
from experiments.views.transcript import WORDS
from storage.columns import ChoiceColumn, Column, ColumnType, IntegerColumn, NumberColumn, TextColumn, choice
from storage.schemas.base import ReleasedTable, Schema
from storage.schemas.registry import schemas

NAME = "tidy"
# In the order in which they are written.
TABLES = (
    *("sessions", "answers", "answers_wide", "scores", "messages", "ratings", "events", "timings", "model_calls"),
    *("integrity", "fidelity", "memory", "tool_calls", "rewards", "documents", "document_edits"),
)
DEFINED = Path(__file__).with_name("columns.csv")
ANY, NUMBER = TextColumn(blank=True), NumberColumn(blank=True)
TIME = TextColumn(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", "a time in UTC, such as 2026-01-31T14:00:00.000+00:00", blank=True
)
BY_RESEARCHERS = ("noted", "excluded", "included", "paid")
GIVEN = MappingProxyType(
    {
        "submitted": "sent with its form",
        "missed": "sent in an attempt at a check that did not pass",
        "expired": "entered, but not sent before the time limit",
        "rated": "sent beside a reply",
        "voted": "sent as a vote",
    }
)
ENDS = MappingProxyType(
    {
        "complete": "complete",
        "cut_off": "cut off at the longest length",
        "stopped": "stopped by the participant",
        "expired": "stopped by a time limit",
    }
)
SOURCES = MappingProxyType(
    {"model": "a model", "scripted": "the study, word for word", "opening": "a model or the study, before any message"}
)
ENDED_BY = MappingProxyType(
    {"turns": "the number of messages", "mark": "the model's mark", "pattern": "a text found in the reply"}
)
MEASURES = MappingProxyType(
    {
        "paste_share": "the share of the written characters that was pasted",
        "typing_speed": "characters a second while keys were pressed, without pasted ones",
        "writing_speed": "characters a second of the time for which the screen was shown",
        "ai_likeness": "the share of a text that is in a reply of a model asked the same question alone",
        "hidden_word": "whether a text has the word of the hidden instruction (0 or 1)",
        "honeypot": "screens on which something was written in the hidden box",
        "duplicate": "how alike a text is to another session's in the same box, from 0 to 1",
    }
)
DECISIONS = MappingProxyType(
    {
        "not_asked": "the participant was not asked",
        "allowed": "the participant allowed it",
        "refused": "the participant refused it",
        "undecided": "it was not made: the reply was stopped or failed before, or waits",
    }
)
TRUTH = MappingProxyType({"0": "no", "1": "yes"})


def participant_schemas(studies: Sequence[Study]) -> tuple[Schema, ...]:
    """The released schemas of a study that name people, in the order of its file."""
    named = dict.fromkeys(name for study in studies for name in study.file.export_schemas)
    return tuple(schemas()[name] for name in named if schemas()[name].participant is not None)


def participant_ids(studies: Sequence[Study]) -> Mapping[str, Callable[[str], str]]:
    """Columns of `sessions` with a person's ids, as functions of the seed: `participant`, and one a further schema."""
    ids = {_id_column(one): one.participant for one in participant_schemas(studies) if one.participant}
    first = next(iter(ids), "")
    return {"participant": ids.pop(first, own_id), **ids}


def session_id(seed: str) -> str:
    """A session's id in the tidy export, from which neither the seed nor the participant's link can be derived."""
    return public_id(seed, "session")


def own_id(seed: str) -> str:
    """A participant's id in the tidy export of a study whose released schemas name nobody."""
    return public_id(seed, "participant")


def person_id(enrolled: Data) -> str | None:
    """A person's id in the tidy export of a study with waves; None in another study."""
    person = enrolled.get("person")
    return public_id(person, "person") if person else None


def _id_column(schema: Schema) -> str:
    return f"{schema.name}_{_person(schema)}".replace("-", "_")


def _person(schema: Schema) -> str:
    return next(table.person for table in schema.tables if table.person)


def _keys(studies: Sequence[Study]) -> tuple[Column, ...]:
    named = participant_schemas(studies)
    same = f", as `{_person(named[0])}` in the files of the schema {named[0].name}" if named else ""
    waves = _wave_columns(studies) if any(study.waves for study in studies) else ()
    own = ", another in each wave" if waves else ""
    return (
        Column("participant", TextColumn(), f"The participant{same}: random letters or digits{own}.", "chance"),
        Column(
            "session", TextColumn(), "The session: ten random letters and digits, the same in all tables.", "chance"
        ),
        *waves,
    )


def _wave_columns(studies: Sequence[Study]) -> tuple[Column, ...]:
    ids = dict.fromkeys(wave.id for study in studies for wave in study.waves)
    joins = "The person whose sessions are the waves: ten random letters and digits."
    named = "The wave, by its id in the study file."
    return Column("person", TextColumn(), joins, "chance"), Column("wave", choice(*ids), named, "the study")


def _types() -> Mapping[str, ColumnType]:
    """The types of columns by their names in `columns.csv`; those of free text are `any`."""
    events = {kind: words for kind, words in WORDS.items() if kind not in BY_RESEARCHERS}
    outcomes = {name: status_label(name) for name in OUTCOMES if name != "withdrawn"}
    return {
        "any": ANY,
        "free text": ANY,
        "some": TextColumn(),
        "time": TIME,
        "count": IntegerColumn(low=0, blank=True),
        "turn": IntegerColumn(low=1, blank=True),
        "place": IntegerColumn(low=1, blank=True),
        "integer from 0": IntegerColumn(low=0),
        "integer from 1": IntegerColumn(low=1),
        "number": NUMBER,
        "number from 0": NumberColumn(low=0),
        "seconds": NumberColumn(low=0, blank=True),
        "yes or no": IntegerColumn(0, 1, TRUTH, blank=True),
        "flagged": IntegerColumn(0, 1, TRUTH),
        "step": choice(*kinds(), blank=True),
        "slot": choice(*"abcd", blank=True),
        "role": choice("user", "assistant"),
        "by": choice("participant", "model", "system", "researcher"),
        "source": ChoiceColumn(SOURCES, blank=True),
        "suggested": choice("verbatim", "edited", blank=True),
        "ended by": ChoiceColumn(ENDED_BY, blank=True),
        "decision": ChoiceColumn(DECISIONS),
        "memory": choice("transcript", "summary", "facts"),
        "origin": choice("person", "pilot", "rehearsal", "bot"),
        "status": ChoiceColumn(GIVEN),
        "ending": ChoiceColumn(ENDS),
        "indicator": ChoiceColumn(MEASURES),
        "event": ChoiceColumn(MappingProxyType(events)),
        "outcome": ChoiceColumn(MappingProxyType(outcomes), blank=True),
    }


@cache
def _defined() -> Mapping[str, tuple[Column, ...]]:
    """The columns of each table in `columns.csv`; one with a star stands for those of an earlier table."""
    found: dict[str, tuple[Column, ...]] = {}
    types = _types()
    with DEFINED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, type_ = row["column"], row["type"]
            if name.startswith("*"):
                more = found[name[1:]]
            else:
                more = (Column(name, types[type_], row["meaning"], row["source"], free_text=type_ == "free text"),)
            found[row["table"]] = (*found.get(row["table"], ()), *more)
    return found


def _ids(studies: Sequence[Study]) -> Iterator[Column]:
    for one in participant_schemas(studies)[1:]:
        meaning = f"The participant, as `{_person(one)}` in the files of the schema {one.name}."
        yield Column(_id_column(one), TextColumn(), meaning, "chance")


def factor_columns(studies: Sequence[Study]) -> Mapping[str, str]:
    taken = {column.name for column in (*_keys(studies), *_defined()["sessions"])}
    factors = dict.fromkeys(name for study in studies for drawn in _factors(study) for name in drawn)
    return {name: f"factor_{name}" if name in taken else name for name in factors}


def _factors(study: Study) -> tuple[Mapping[str, Factor], ...]:
    return study.factors, *(wave.factors for wave in study.waves)


def _factor_columns(studies: Sequence[Study]) -> Iterator[Column]:
    for factor, column in factor_columns(studies).items():
        drawn = ((own[factor], one.pools) for one in studies for own in _factors(one) if factor in own)
        values = (value for one, pools in drawn for value in factor_values(one, pools))
        yield Column(
            column,
            choice(*dict.fromkeys(values), blank=True),
            f"The condition: the factor `{factor}`.",
            "random assignment",
        )


def wide_columns(studies: Sequence[Study]) -> Mapping[tuple[str, str], Column]:
    """The columns of `answers_wide` by path and question, which steps outside of loops ask; called as the question, if
    several steps ask one of that name after the path as well."""
    asked: dict[tuple[str, str], Field] = {}
    for study in studies:
        for path, step in study.steps:
            if "[*]" not in path:
                named = step.provides()
                asked |= {(path, field.name): field for field in step.questions_asked() if field.name in named}
    waves = ("person", "wave") if any(study.waves for study in studies) else ()
    times = Counter([*(name for _, name in asked), *waves])
    return {
        (path, name): _wide_column(name if times[name] == 1 else f"{path.replace('/', '.')}.{name}", path, field)
        for (path, name), field in asked.items()
    }


def _wide_column(column: str, path: str, field: Field) -> Column:
    form, meaning = _form(field), f"The answer to `{field.name}` at `{path}`."
    return Column(column, form, meaning, "the participant", (field.name,), free_text=form is ANY)


def _form(field: Field) -> ColumnType:
    match field:
        case MultipleChoiceField():
            return TextColumn(what="a JSON list of stored values", blank=True)
        case Scale(numeric=True):
            return IntegerColumn(named=MappingProxyType(dict(field.options)), blank=True)
        case ChoiceField():
            return ChoiceColumn(MappingProxyType(dict(field.options)), blank=True)
        case Number(integer=False):
            return NUMBER
        case Number() | Slider():
            return IntegerColumn(blank=True)
        case Checkbox():
            return choice("true", "false", blank=True)
        case _:
            return ANY


@dataclass(frozen=True)
class Layout:
    """`ids` are as `participant_ids`, `factors` by the name of their column, `wide` as `wide_columns`."""

    studies: tuple[Study, ...]

    @cached_property
    def ids(self) -> Mapping[str, Callable[[str], str]]:
        return participant_ids(self.studies)

    @cached_property
    def factors(self) -> Mapping[str, str]:
        return {column: factor for factor, column in factor_columns(self.studies).items()}

    @cached_property
    def wide(self) -> Mapping[tuple[str, str], Column]:
        return wide_columns(self.studies)


def tables(studies: Sequence[Study]) -> tuple[ReleasedTable, ...]:
    """The tables, in the order in which they are written; they are in no database."""
    defined, keys = _defined(), _keys(studies)
    columns = {name: defined.get(name, ()) for name in TABLES} | {
        "sessions": (*_ids(studies), *defined["sessions"], *_factor_columns(studies)),
        "answers_wide": tuple(wide_columns(studies).values()),
    }
    return tuple(
        ReleasedTable(name, f"{name}.csv", (*keys, *own), (), person="participant") for name, own in columns.items()
    )


def schema(studies: Sequence[Study] = ()) -> Schema:
    return Schema(NAME, "Parley's tidy tables", "", tables(studies), lambda study, state: ())
