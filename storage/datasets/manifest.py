"""Description of a written export, from which the codebook, the card and the metadata are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.study.sections.dataset_info import DatasetInfo
from experiments.study.study import Study
from problems.pictures import Picture
from storage.ai_alone.model_use import ModelTask
from storage.columns import Column
from storage.schemas.base import ReleasedTable, Schema


@dataclass(frozen=True, slots=True)
class LinesCopy:
    """The rows of a csv as JSON Lines, beside it."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """`formulas` is the number of cells by column that a spreadsheet would run. `as_floats` and `as_texts` are the
    columns of whole numbers that a csv reader takes for floats or texts (writers.CsvCells)."""

    table: ReleasedTable
    path: str
    columns: tuple[Column, ...]
    rows: int
    bytes: int
    sha256: str
    formulas: Mapping[str, int]
    as_floats: frozenset[str] = frozenset()
    as_texts: frozenset[str] = frozenset()
    lines: LinesCopy | None = None
    """The copy as JSON lines, if the export has JSON files too: `datasets` reads all configs of a folder in one
    format."""


@dataclass(frozen=True, slots=True)
class FilterStep:
    step: str
    people: int
    answers: int


@dataclass(frozen=True, slots=True)
class SessionSelection:
    """`left_out` are pairs of reason and number that count each session once. `excluded` are researchers' reasons for
    exclusion with their numbers, even if the export includes those sessions."""

    rules: tuple[str, ...]
    of: int
    left_out: tuple[tuple[str, int], ...]
    excluded: tuple[tuple[str, int], ...]
    with_excluded: bool

    @property
    def number(self) -> int:
        return self.of - sum(count for _, count in self.left_out)


@dataclass(frozen=True, slots=True)
class ExportManifest:
    """`studies` are the frozen studies of the exported sessions, oldest first; none of imported data, where `sources`
    lists the files (data of the `imported` events). `selected` is None if all sessions are exported."""

    study: str
    schema: Schema
    origin: str
    sessions: int
    folder: Path
    files: tuple[ExportedFile, ...]
    studies: tuple[Study, ...] = ()
    sources: tuple[Mapping[str, Any], ...] = ()
    filtered: tuple[FilterStep, ...] = ()
    safe: bool = False
    selected: SessionSelection | None = None
    withdrawn: int = 0
    """The number of withdrawn sessions, which are erased and not counted in any other number."""
    users: tuple[tuple[str, int], ...] = ()
    """Simulated users and how many sessions each played; empty if people took part."""
    uses: tuple[ModelTask, ...] = ()
    """The models that made the data: those that annotated conversations, and those that answered alone."""
    dataset: DatasetInfo | None = None
    pictures: tuple[tuple[str, Picture, int], ...] = ()
    """The path of each picture's file, the picture and the file's size in bytes, in the order of the paths: those that
    participants saw, and those that they sent."""
    period: tuple[str, str] | None = None
    """The days (ISO 8601, UTC) on which the first and the last session started; None if they are not known."""
    masked: bool = False
    """True if personal data in free text were masked."""
    personal: tuple[tuple[str, str, str, int], ...] = ()
    """The number found of each kind (exports/personal_data.py): path, column, kind and number."""
    without: tuple[str, ...] = ()
    """The columns that were left out."""
