"""The recruiters' ids of an export's participants, in a separate file for the study's operators.

The file can be joined with the exported tables by `participant` and `session`, and in a study with waves by `person`,
which is also that of reminders by webhook. It identifies people, so it is never
written into the folder of an export, which is made to be shared.
"""

from __future__ import annotations

from io import TextIOWrapper
from pathlib import Path

from sqlalchemy import Connection

from storage.datasets.exports.plan import ExportRequest, plan_export
from storage.datasets.exports.session_rows import SessionRows
from storage.datasets.tidy.columns import NAME, person_id, session_id
from storage.datasets.writers import CsvWriter, escaped
from storage.db.checksums import NAME as SUMS
from storage.db.engine import Database
from storage.db.private_files import writing
from storage.errors import StorageError
from storage.registers.participants import Participants

HEADER = ("recruiter", "id", "submission")


def write_recruiter_ids(database: Database, participants: Participants, request: ExportRequest, file: Path) -> int:
    """Write a row for each session with an id, which the caller has written to the audit log; returns their number.
    Raises StorageError if the data were imported, or if the ids were sealed under another secret."""
    with database.connect() as connection, writing(file) as whole:
        sessions = _sessions(connection, request)
        ids = sessions.layout.ids
        with TextIOWrapper(whole, encoding="utf-8", newline="", write_through=True) as text:
            waves = any(study.waves for study in sessions.layout.studies)
            writer = CsvWriter(text, [*ids, "session", *(["person"] if waves else []), *HEADER])
            count = 0
            for record in sessions.records(connection):
                person, seed = participants.reveal(record.seat["stream"]), record.state.seed
                if person is not None:
                    cells = map(escaped, (person.recruiter, person.id, person.submission))
                    own = [*(of(seed) for of in ids.values()), session_id(seed)]
                    own += [person_id(record.state.enrolled) or ""] if waves else []
                    writer.rows([[*own, *cells]])
                    count += 1
        return count


def refuse_shared_folder(file: Path, folder: Path) -> None:
    """Raise StorageError if a file would be in the folder of an export: the one being written, or another."""
    above = [*file.resolve().parents]
    shared = next((place for place in above if place == folder.resolve() or (place / SUMS).is_file()), None)
    if shared is not None:
        raise StorageError(
            f"{file} would be in {shared}, the folder of an export, which is made to be shared. Recruiters' IDs "
            "identify people: write them to another folder"
        )


def _sessions(connection: Connection, request: ExportRequest) -> SessionRows:
    plan = plan_export(connection, ExportRequest(request.study, NAME, request.origin, selection=request.selection))
    return next(one for one in plan.files if isinstance(one, SessionRows))
