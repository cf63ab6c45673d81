"""Payment files, written so that no person is paid twice for the same work, even if the process is killed.

All files of a run are written into a hidden folder beside their places; then the payments are recorded, in one
transaction; then the files are moved. Killed before it was recorded, a run leaves nothing that anybody takes for a
file of payments, and the next pays. Killed afterwards, the whole files lie in the hidden folder and the log names
their key: the next run into the same folder moves them. Of a run that was killed before, the next deletes the hidden
folder: as long as a run lives it holds a lock in there. The other way round, files first, a run killed in between would
leave a bonus file of which the log knows nothing, and the next run would pay all of it again.
"""

from __future__ import annotations

import csv
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO
from pathlib import Path

from filelock import FileLock

from experiments.views.bonus import NOTHING
from storage.datasets.writers import escaped
from storage.db.engine import Database, repeated
from storage.db.private_files import create, hold_lock, make_folder, new_folder
from storage.errors import Conflict, StorageError
from storage.payments.payments import API_PAYMENT, Payee, Payment, payees, record, recorded_of
from storage.payments.prolific import ProlificLists, Statuses, lists
from storage.registers.origins import Origin
from storage.registers.participants import Participants

MOST_LINES = 200
# The file in a hidden folder that is locked as long as the run lives whose folder it is.
LOCK = "lock"
# How the names of a rehearsal's files begin, which are never written.
REHEARSED = "REHEARSAL-"
COLUMNS = (
    *("recruiter", "id", "session", "outcome", "bonus", "paid_before", "attention_checks_failed", "minutes"),
    "excluded",
)


@dataclass(frozen=True, slots=True)
class PaymentRequest:
    """A `dry` run, and one of a rehearsal, writes and records nothing. `known` are those of Prolific's export."""

    study: str
    folder: Path
    known: Statuses | None = None
    dry: bool = False
    pay_excluded: bool = False
    origin: Origin = Origin.PERSON

    @property
    def writes(self) -> bool:
        return not self.dry and self.origin == Origin.PERSON


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    moved: tuple[str, ...] = ()
    swept: tuple[Path, ...] = ()
    busy: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class PaymentRun:
    """The sessions and the files, which a dry run would have written. `moved` are files that a killed run had recorded;
    `swept` are deleted hidden folders of killed runs; `busy` are those of runs that are at work now."""

    stamp: str
    payees: tuple[Payee, ...]
    lists: ProlificLists
    files: Mapping[str, str]
    payments: tuple[Payment, ...]
    moved: tuple[str, ...] = ()
    swept: tuple[Path, ...] = ()
    busy: tuple[Path, ...] = ()

    def total(self, file: str) -> Decimal:
        return sum((payment.payee.due for payment in self.payments if payment.file == file), NOTHING)


def run_payments(database: Database, participants: Participants, request: PaymentRequest, at_us: int) -> PaymentRun:
    """Compute the payments, write the files and record them; raises StorageError if they cannot be written."""
    earlier = EarlierRuns()

    def attempt() -> PaymentRun:
        nonlocal earlier
        earlier = _finish(database, request, earlier)
        found = payees(database, participants, request.study, at_us, request.origin)
        recorded = {file for payee in found for file in payee.paid}
        planned = _planned(found, request, _stamp(request.folder, recorded, at_us))
        run = replace(planned, moved=earlier.moved, swept=earlier.swept, busy=earlier.busy)
        if request.writes:
            _write(database, request, run, at_us)
        return run

    try:
        return repeated(request.study, attempt)
    except OSError as error:
        raise StorageError(
            f"{request.folder} cannot be written: {error.strerror or error}. Run the command again with the same "
            "folder, or with another one if this one can never be written"
        ) from error


@dataclass(frozen=True, slots=True)
class BonusFile:
    """A bonus file made again from the log, without deleted IDs; `deleted` is their number, with their sum."""

    name: str
    text: str
    people: int
    total: Decimal
    deleted: int
    deleted_total: Decimal


def recorded_files(payees: Iterable[Payee]) -> tuple[BonusFile, ...]:
    """The bonus files whose payments are recorded, the newest first."""
    amounts: dict[str, dict[str, Decimal]] = {}
    deleted: dict[str, list[Decimal]] = {}
    for payee in payees:
        for file, amount in payee.paid.items():
            if file.startswith(API_PAYMENT):
                continue
            ids = amounts.setdefault(file, {})
            if payee.id:
                ids[payee.id] = ids.get(payee.id, NOTHING) + amount
            else:
                deleted.setdefault(file, []).append(amount)
    return tuple(
        BonusFile(
            name,
            _bonus_csv(ids),
            len(ids),
            sum(ids.values(), NOTHING),
            len(deleted.get(name, ())),
            sum(deleted.get(name, ()), NOTHING),
        )
        for name, ids in sorted(amounts.items(), key=lambda item: _order(item[0]), reverse=True)
    )


def _order(file: str) -> list[str]:
    return [word.zfill(8) for word in re.findall(r"\d+", file)]


def _planned(payees: tuple[Payee, ...], request: PaymentRequest, stamp: str) -> PaymentRun:
    sorted_ = lists(payees, request.known, pay_excluded=request.pay_excluded)
    ids = list(sorted_.bonus)
    parts = [ids[start : start + MOST_LINES] for start in range(0, len(ids), MOST_LINES)]
    files: dict[str, str] = {}
    payments: list[Payment] = []
    for number, part in enumerate(parts, start=1):
        name = f"prolific-bonus-{stamp}{f'-part-{number}' if len(parts) > 1 else ''}.csv"
        amounts = {id_: sum((payee.due for payee in sorted_.bonus[id_]), NOTHING) for id_ in part}
        files[name] = _bonus_csv(amounts)
        payments += [Payment(payee, name) for id_ in part for payee in sorted_.bonus[id_]]
    listed = {"approve": sorted_.approve, "return": sorted_.no_consent, "screened-out": sorted_.screened_out}
    files |= {f"prolific-{name}-{stamp}.csv": _csv((id_,) for id_ in ids) for name, ids in listed.items() if ids}
    files[f"payments-{stamp}.csv"] = _csv(_rows(payees))
    if request.origin == Origin.REHEARSAL:
        files = {f"{REHEARSED}{name}": text for name, text in files.items()}
        payments = [replace(payment, file=f"{REHEARSED}{payment.file}") for payment in payments]
    return PaymentRun(stamp, payees, sorted_, files, tuple(payments))


def _rows(payees: Sequence[Payee]) -> Iterator[Sequence[object]]:
    waves = any(payee.wave for payee in payees)
    yield (*COLUMNS, "wave") if waves else COLUMNS
    yield from ((*_row(payee), payee.wave) if waves else _row(payee) for payee in payees)


def _row(payee: Payee) -> Sequence[object]:
    minutes = "" if payee.minutes is None else f"{payee.minutes:.1f}"
    money = (f"{payee.earned:.2f}", f"{payee.before:.2f}")
    person = (payee.recruiter, escaped(payee.id), payee.number, payee.outcome)
    return *person, *money, payee.checks_failed, minutes, escaped(payee.excluded or "")


def _bonus_csv(amounts: Mapping[str, Decimal]) -> str:
    return _csv((id_, f"{amount:.2f}") for id_, amount in amounts.items())


def _csv(rows: Iterable[Sequence[object]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _stamp(folder: Path, recorded: Collection[str], at_us: int) -> str:
    """The day and a number that no file of that day has, neither here nor in the log."""
    day = datetime.fromtimestamp(at_us / 1e6, UTC).date().isoformat()
    there = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    found = (re.search(rf"-{day}-(\d+)(-part-\d+)?\.\w+$", name) for name in (*there, *recorded))
    return f"{day}-{max((int(match[1]) for match in found if match), default=0) + 1}"


def _finish(database: Database, request: PaymentRequest, earlier: EarlierRuns) -> EarlierRuns:
    """Move the files of runs that were killed once they were recorded, and delete what those left that were not."""
    pattern = re.compile(rf"\.{re.escape(request.study)}-\d{{4}}-\d\d-\d\d-\d+\.part")
    there = sorted(request.folder.iterdir()) if request.folder.is_dir() and request.writes else []
    moved, swept, busy = list(earlier.moved), list(earlier.swept), []
    for hidden in (path for path in there if pattern.fullmatch(path.name)):
        lock = hold_lock(hidden / LOCK)
        if lock is None:
            busy.append(hidden)
            continue
        kept = recorded_of(database, [path.name for path in _inside(hidden)])  # read when nobody is at work there
        moved += [name for key in kept for name in _move(hidden / key, request.folder)]
        swept += [] if kept else [hidden]
        _leave(hidden, lock)
    return EarlierRuns(tuple(moved), tuple(swept), tuple(busy))


def _leave(hidden: Path, lock: FileLock) -> None:
    """Release a hidden folder, and delete it with its content."""
    for path in _inside(hidden):
        if path.name != LOCK:
            shutil.rmtree(path, ignore_errors=True)
    lock.release()
    with suppress(OSError):  # somebody looks whether it is held, and deletes it
        (hidden / LOCK).unlink()
        hidden.rmdir()


def _write(database: Database, request: PaymentRequest, run: PaymentRun, at_us: int) -> None:
    """Write, record, move; raises Conflict, with nothing left behind, where a session went on meanwhile."""
    key = secrets.token_hex(16)
    hidden = request.folder / f".{request.study}-{run.stamp}.part"
    make_folder(request.folder)
    try:
        new_folder(hidden)
    except FileExistsError:
        raise Conflict(f"{hidden}: another run started at the same time") from None
    lock = hold_lock(hidden / LOCK)
    if lock is None:
        raise Conflict(f"{hidden}: another run is checking this folder")
    try:
        new_folder(hidden / key)
        for name, text in run.files.items():
            _to_disk(hidden / key / name, text)
        record(database, run.payments, key, at_us)
    except (OSError, Conflict):
        _leave(hidden, lock)
        raise
    _move(hidden / key, request.folder)  # if it fails the files stay where they are, for the next run
    _leave(hidden, lock)


def _inside(folder: Path) -> list[Path]:
    """The content of a folder; nothing where another run has just finished with it."""
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []


def _to_disk(path: Path, text: str) -> None:
    """Write a file that outlives a power cut, as its record does."""
    with create(path) as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())


def _move(written: Path, folder: Path) -> list[str]:
    names = sorted(path.name for path in _inside(written))
    for name in names:
        (written / name).rename(folder / name)
    return names
