"""The record of an export's deposits and of the decisions at the gate: `FOLDER.deposits.json`, beside the export.

It is beside the folder and not in a database, because an export is deposited from where it is, and copied with it; and
not in the folder, because it has names of reviewers and is not published. It never has a token or a value of the data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from storage.datasets.deposits.gate import GateReport, Review
from storage.db.private_files import hold_lock, writing
from storage.errors import StorageError

State = Literal["creating", "draft", "published"]


class _RecordModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ReviewEntry(_RecordModel):
    """A decision about a column of the data with this digest."""

    data: str
    column: str
    by: str
    at: str


class DemographicsEntry(_RecordModel):
    """Which columns of the data with this digest describe participants; `none` if none do."""

    data: str
    columns: tuple[str, ...]
    by: str
    at: str


class GateEntry(_RecordModel):
    """The gate's result: the k-anonymity by which columns and among how many people, and each finding in words, with
    those who decided about it. No value of the data."""

    k: int | None
    threshold: int
    people: int
    demographics: tuple[str, ...]
    findings: tuple[str, ...]
    reviewed_by: tuple[str, ...]


class Deposit(_RecordModel):
    """A deposit: where it is, of which data, and how far it is. Times are ISO 8601 in UTC.

    `state` is `creating` from before the request that creates it until the answer with its id; `version` is what the
    server calls this version, such as a commit. `sha256` are the checksums of what was uploaded, by path.
    """

    to: str
    server: str
    data: str
    state: State
    created: str
    id: str = ""
    url: str = ""
    reserved_doi: str = ""
    doi: str = ""
    version: str = ""
    embargo_until: str = ""
    uploaded: str = ""
    published: str = ""
    sha256: dict[str, str] = {}
    gate: GateEntry | None = None


class Record(_RecordModel):
    """All decisions about an export, and its deposits, oldest first."""

    reviews: tuple[ReviewEntry, ...] = ()
    demographics: tuple[DemographicsEntry, ...] = ()
    deposits: tuple[Deposit, ...] = ()

    def deposit(self, to: str, server: str) -> Deposit | None:
        """The last deposit on a server; None if there is none."""
        return next((one for one in reversed(self.deposits) if (one.to, one.server) == (to, server)), None)

    def with_deposit(self, deposit: Deposit) -> Record:
        """The record with a deposit in place of an earlier state of it."""
        key = (deposit.to, deposit.server, deposit.created)
        others = tuple(one for one in self.deposits if (one.to, one.server, one.created) != key)
        return self.model_copy(update={"deposits": (*others, deposit)})

    def reviews_of(self, data: str) -> list[Review]:
        """The decisions about these data."""
        return [Review(one.column, one.by, one.at) for one in self.reviews if one.data == data]

    def with_reviews(self, data: str, reviews: Sequence[Review]) -> Record:
        """The record with decisions about these data, which replace earlier ones about the same columns."""
        columns = {review.column for review in reviews}
        others = tuple(one for one in self.reviews if one.data != data or one.column not in columns)
        new = tuple(ReviewEntry(data=data, column=one.column, by=one.by, at=one.at) for one in reviews)
        return self.model_copy(update={"reviews": (*others, *new)})

    def demographics_of(self, data: str) -> tuple[str, ...] | None:
        """The columns that describe participants, as somebody said; None if nobody has."""
        return next((one.columns for one in reversed(self.demographics) if one.data == data), None)

    def with_demographics(self, entry: DemographicsEntry) -> Record:
        """The record with what somebody said of the data."""
        others = tuple(one for one in self.demographics if one.data != entry.data)
        return self.model_copy(update={"demographics": (*others, entry)})


def gate_entry(report: GateReport) -> GateEntry:
    """The result of the gate as it is recorded."""
    return GateEntry(
        k=report.k,
        threshold=report.threshold,
        people=report.people,
        demographics=report.demographics,
        findings=tuple(f"{one.kind}: {', '.join(one.columns)}: {one.detail}" for one in report.findings),
        reviewed_by=tuple(dict.fromkeys(f"{r.column}: {r.by}, {r.at}" for one in report.findings for r in one.reviews)),
    )


def record_file(folder: Path) -> Path:
    """The file beside the folder of an export."""
    folder = folder.resolve()
    return folder.with_name(f"{folder.name}.deposits.json")


def read_record(folder: Path) -> Record:
    """The record of an export; an empty one if there is none. Raises StorageError for a file that is damaged."""
    file = record_file(folder)
    if not file.is_file():
        return Record()
    try:
        return Record.model_validate_json(file.read_bytes())
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])) or "the file"
        raise StorageError(
            f"{file}: {where}: {fault['msg']}. It records what was deposited. Restore it from a backup; or, if nothing "
            "of this export was deposited, move it away"
        ) from None


def write_record(folder: Path, record: Record) -> None:
    """Write the record, all of it at once."""
    text = json.dumps(record.model_dump(mode="json", exclude_defaults=True), indent=2, ensure_ascii=False) + "\n"
    with writing(record_file(folder)) as file:
        file.write(text.encode())


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let nobody else deposit the same export meanwhile; raises StorageError if somebody does."""
    lock = hold_lock(record_file(folder).with_name(f".{folder.resolve().name}.deposits.lock"))
    if lock is None:
        raise StorageError(f"{folder}: another process is depositing this export, or its folder cannot be written")
    try:
        yield
    finally:
        lock.release()
