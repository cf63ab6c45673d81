"""Replies of models that were asked alone, put into a database without asking anybody."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.alone.planning import AloneCell
from experiments.core.resolve import Study
from storage.alone.cells import keep_cells
from storage.alone.replies import Reply, write
from storage.engine import Database, writer
from storage.studies import Studies


def row(cell: str, sample: int, step: int, text: str | None, reason: str | None = None) -> Reply:
    """A call and what came of it, at a cost of a hundredth."""
    return Reply(
        cell=cell,
        sample=sample,
        step=step,
        run="run",
        reason=reason,
        model="tutor-a",
        backend="scripted",
        server=None,
        finish_reason=None if reason else "stop",
        version=None,
        prompt_tokens=1,
        completion_tokens=1,
        cost=0.01,
        started_us=0,
        total_us=1,
        tries=1,
        text=text,
        cause=reason,
        request="{}",
        raw="{}",
    )


def keep(database: Database, study: Study, cells: Sequence[AloneCell], rows: Iterable[Reply]) -> None:
    """A plan as a run writes it, with these replies."""
    Studies(database).register(study)
    keep_cells(database, study.name, (cell.stored(number) for number, cell in enumerate(cells)))
    with writer(database) as connection:
        write(connection, list(rows))
