"""Prolific's export of a study, a csv file: the status of each participant's submission."""

from __future__ import annotations

from pathlib import Path

from problems.errors import ProblemError
from problems.readers import csv_records
from problems.text import read_text
from storage.errors import BadFile
from storage.payments.prolific import STATUSES
from storage.payments.submissions import plain_status

ID, STATUS = "participant id", "status"
MOST_FAULTS = 5


def read_prolific(path: Path) -> list[tuple[str, str]]:
    """Read ids and upper-case statuses from Prolific's export of a study, in its order. Raises BadFile."""
    try:
        return prolific_rows(read_text(path), str(path))
    except ProblemError as error:
        raise BadFile(str(error)) from None


def prolific_rows(text: str, path: str) -> list[tuple[str, str]]:
    """`path` is for errors. Raises BadFile, or ProblemError without csv."""
    records, faults = csv_records(text)
    header = [name.strip().lower() for name in records[0][1]] if records else []
    if not {ID, STATUS} <= {*header} or not records[1:]:
        raise BadFile(
            f"{path}: not an export of Prolific's; it needs the columns 'Participant id' and 'Status', and a row"
        )
    faults += [
        f"line {line}: {len(cells)} cells instead of {len(header)}; put quotes around cells with separators"
        for line, cells in records
        if len(cells) != len(header)
    ]
    if faults:
        raise BadFile(f"{path}: cannot be read; correct these rows:", *faults[:MOST_FAULTS])
    rows = {line: dict(zip(header, cells, strict=True)) for line, cells in records[1:]}
    found = {line: (row[ID].strip(), plain_status(row[STATUS])) for line, row in rows.items()}
    unknown = [f"line {line}: status {status!r}" for line, (_, status) in found.items() if status not in STATUSES]
    if unknown:
        raise BadFile(
            f"{path}: a submission's status is one of {', '.join(STATUSES)}; correct:", *unknown[:MOST_FAULTS]
        )
    return list(found.values())
