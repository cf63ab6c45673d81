"""Replies of models that were asked alone, put into a database without asking anybody."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.ai_alone.plan import AloneCell
from experiments.study.study import Study
from storage.ai_alone.cells import save_cells
from storage.db.engine import Database
from storage.registers.studies import Studies
from tests.fakes.sampled import Row, sampled, write_sampled


def row(cell: str, sample: int, step: int, text: str | None, reason: str | None = None) -> Row:
    return sampled(cell, sample, step, text, reason, model="tutor-a", backend="scripted")


def keep(database: Database, study: Study, cells: Sequence[AloneCell], rows: Iterable[Row]) -> None:
    Studies(database).register(study)
    save_cells(database, study.name, (cell.stored(number) for number, cell in enumerate(cells)))
    write_sampled(database, rows)
