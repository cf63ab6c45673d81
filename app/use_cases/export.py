"""Export: a filter of sessions in words, the schemas of a study, and the files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from app.clock import Clock
from app.use_cases.outcome_lock import peek
from experiments.study.cells import parse_values
from storage.accounts.audit_log import AuditLog
from storage.datasets.describe.zip_file import zip_export
from storage.datasets.exports.exporter import OnRows, export
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.exports.preview import export_options
from storage.datasets.exports.recruiter_ids import write_recruiter_ids
from storage.datasets.exports.session_filter import SessionFilter, moment_of
from storage.datasets.manifest import ExportManifest
from storage.datasets.tidy.columns import NAME as TIDY
from storage.db.engine import Database
from storage.registers.origins import Origin
from storage.registers.participants import Participants

ZIP = ".zip"
PEEKED = (
    "This study is preregistered and not over, so the export is recorded as an unplanned look at its outcomes. The "
    "report states it."
)


def read_filter(session_filter: SessionFilter, where: Iterable[str], since: str, until: str) -> SessionFilter:
    """A filter with these `FACTOR=VALUE` and times (UTC); raises StorageError and NoSuchCell for invalid ones."""
    return replace(
        session_filter, where=parse_values(where), since_us=moment_of(since), until_us=moment_of(until, end=True)
    )


def requests_of(database: Database, request: ExportRequest) -> list[ExportRequest]:
    """The request, or where it names no schema, one for each that the study has such sessions in."""
    if request.schema:
        return [request]
    found = export_options(database, request.study).schemas
    schemas = found.get(request.origin or next(iter(found), ""), (TIDY,))
    return [replace(request, schema=schema) for schema in schemas]


def peek_by_export(database: Database, request: ExportRequest, who: str, now_us: int) -> str:
    """Record an export of people's outcomes that are locked as an unplanned look; says so, or nothing."""
    people = request.origin in (None, Origin.PERSON)
    return PEEKED if people and peek(database, request.study, who, "export", "", now_us) else ""


def write_export(
    database: Database,
    request: ExportRequest,
    folder: Path,
    *,
    zipped: bool,
    on_rows: OnRows = lambda path, rows: None,
) -> tuple[ExportManifest, Path]:
    """Write a schema, perhaps as a zip, of which `on_rows` gets name and 0; also the path. Raises StorageError."""
    exported = export(database, request, folder, on_rows)
    if not zipped:
        return exported, folder
    on_rows(f"{folder.name}{ZIP}", 0)
    return exported, zip_export(folder)


def write_ids(
    database: Database, participants: Participants, request: ExportRequest, file: Path, who: str, clock: Clock
) -> int:
    """Write the recruiters' IDs of the sessions of an export, once that is in the audit log; returns their number."""
    AuditLog(database, clock.now_us).record(who, "exported recruiter IDs", request.study)
    return write_recruiter_ids(database, participants, request, file)
