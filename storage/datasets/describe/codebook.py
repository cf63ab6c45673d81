"""The codebook: every column of every file, with what it means, what may stand in it, and what was asked for it.

A value, from which the Markdown for people is written; as JSON it is for programs. What is not known is said to be so:
`wording_known` is false where the data come without the study that asked for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import orjson

from storage.column_types import Kind
from storage.datasets.describe.question_wording import Wording, wordings
from storage.datasets.manifest import Exported, File
from storage.schemas.base import Column

Asked = Mapping[str, tuple[Wording, ...]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A column. `values` are the allowed ones, with what each means, where there is a list of them."""

    name: str
    type: Kind
    meaning: str
    source: str
    may_be_blank: bool
    allowed: str
    values: Mapping[str, str]
    asked: tuple[str, ...]
    wording_known: bool
    wordings: tuple[Wording, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A file with its columns, in order."""

    path: str
    rows: int
    columns: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Codebook:
    """The codebook of an export."""

    study: str
    schema: str
    origin: str
    files: tuple[Sheet, ...]


def codebook(exported: Exported) -> Codebook:
    """The codebook of what was exported."""
    asked = wordings(exported.studies)
    sheets = tuple(_sheet(file, asked, known=bool(exported.studies)) for file in exported.files)
    return Codebook(exported.study, exported.schema.name, exported.origin, sheets)


def as_json(book: Codebook) -> bytes:
    """The codebook for programs."""
    return orjson.dumps(asdict(book), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _sheet(file: File, asked: Asked, *, known: bool) -> Sheet:
    return Sheet(file.path, file.rows, tuple(_entry(column, asked, known=known) for column in file.columns))


def _entry(column: Column, asked: Asked, *, known: bool) -> Entry:
    return Entry(
        name=column.name,
        type=column.kind,
        meaning=column.meaning,
        source=column.source,
        may_be_blank=column.form.blank,
        allowed=column.form.allowed,
        values=dict(column.form.labels),
        asked=column.asked,
        wording_known=known,
        wordings=tuple(wording for name in column.asked for wording in asked.get(name, ())),
    )
