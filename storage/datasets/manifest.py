"""What an export wrote: plain values, from which the codebook, the card and the metadata are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.study.resolve import Study
from storage.schemas.base import Column, ReleasedTable, Schema


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A written file: its path within the export, its columns in order, and how many of its cells a spreadsheet would
    run as a formula, by column."""

    table: ReleasedTable
    path: str
    columns: tuple[Column, ...]
    rows: int
    bytes: int
    sha256: str
    formulas: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FilterStep:
    """What one step of a filter left: how many participants and how many answers."""

    step: str
    people: int
    answers: int


@dataclass(frozen=True, slots=True)
class SessionSelection:
    """Which sessions an export was restricted to: what was asked of them, of how many, and whom that left out.

    `left_out` says why and how many, each session once; `excluded` are researchers' reasons, also where those sessions
    are in it after all.
    """

    rules: tuple[str, ...]
    of: int
    left_out: tuple[tuple[str, int], ...]
    excluded: tuple[tuple[str, int], ...]
    with_excluded: bool

    @property
    def number(self) -> int:
        """How many sessions are left."""
        return self.of - sum(count for _, count in self.left_out)


@dataclass(frozen=True, slots=True)
class ExportManifest:
    """An export: whose sessions it holds, its files, and what explains them.

    `studies` are the frozen studies of the exported sessions (several if the study was changed), oldest first; none
    for imported data, whose `sources` tell which files were read (data of the `imported` facts). `selected` is None
    where nothing was asked of sessions and nobody is excluded.
    """

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
    """How many sessions were withdrawn: they are erased, and among none of the numbers."""
    users: tuple[tuple[str, int], ...] = ()
    """Who played the study's simulated sessions, and how many; nothing where people took part."""
