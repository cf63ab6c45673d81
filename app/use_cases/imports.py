"""Import the files of a release as sessions, after a plan with their content and every error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.use_cases.tables import Told
from experiments.plural import count
from storage.datasets.imports.importer import Imported, Progress, deviations, import_files
from storage.datasets.imports.records import CellDeviation
from storage.db.engine import Database
from storage.errors import StorageError
from storage.registers.studies import Studies

MOST_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """The effects of an import; `wrong` are the deviations for which it would be refused."""

    schema: str
    paths: Sequence[Path]
    study: str
    found: Sequence[Imported]
    wrong: Sequence[CellDeviation] = ()

    @property
    def told(self) -> Told:
        what = f"{count(len(self.found), 'file')} of {self.schema} would be imported into the study {self.study}."
        if self.wrong:
            most = " or more" if len(self.wrong) == MOST_LISTED else ""
            errors = f"{count(len(self.wrong), 'error')}{most}"
            what = f"Nothing can be imported: {errors}. Correct the files and send them again, or remove them."
        files = [{"file": one.path.name, "read as": one.released, "rows": one.rows} for one in self.found]
        return Told([what], {"files": files, "errors": [_shown(one) for one in self.wrong]})


def _shown(wrong: CellDeviation) -> dict[str, Any]:
    return {**asdict(wrong), "row": wrong.row or "header", "column": wrong.column or "–"}


def study_to_import(database: Database, schema: str, typed: str) -> str:
    """The study to import into; raises StorageError for an existing one that was not named."""
    if not typed and Studies(database).has(schema):
        raise StorageError(
            f"This database has a study {schema!r} already. Name the study to import into: {schema}-released, say, or "
            f"{schema} to import beside its own sessions"
        )
    return typed or schema


def plan_import(database: Database, schema: str, paths: Sequence[Path], typed: str) -> ImportPlan:
    """Read the files, and write nothing."""
    study, found, wrong = study_to_import(database, schema, typed), list[Imported](), list[CellDeviation]()
    for item in deviations(schema, paths, rules=False):
        if isinstance(item, Imported):
            found.append(item)
        elif len(wrong) < MOST_LISTED:
            wrong.append(item)
    return ImportPlan(schema, paths, study, found, wrong)


def run_import(database: Database, plan: ImportPlan, progress: Progress) -> Told:
    """Raises BadFile for rows that contradict recorded ones; nothing is imported then."""
    return told(import_files(database, plan.schema, plan.paths, plan.study, progress))


def told(done: Sequence[Imported]) -> Told:
    return Told([f"{one.path.name}: {count(one.rows, 'row')}, {one.new:,} new." for one in done])
