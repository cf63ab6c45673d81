"""Deposit an export in a repository: create a draft, upload, check, and publish if that is asked for.

Each step is recorded beside the export before the next one, so that a deposit that was interrupted is continued, and
that there are never two of the same export unless somebody asks for another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from app.deposit.repository import Advance, Place, Published, Repository, Upload
from app.errors import DepositError
from storage.datasets.deposits.export_folder import ExportFolder
from storage.datasets.deposits.gate import GateReport
from storage.datasets.deposits.record import Deposit, gate_entry, read_record, write_record
from storage.db.checksums import sha256_of

Now = Callable[[], str]
"""The time, as ISO 8601 in UTC."""


@dataclass(frozen=True, slots=True)
class DepositRequest:
    """What somebody asks for: `name` for a repository that has names, `id` of a deposit to continue in, `new` for
    another deposit although there is one."""

    publish: bool = False
    embargo_until: date | None = None
    name: str = ""
    id: str = ""
    new: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """A deposit as it is now. `next` is what is left to do there; `unchanged` says that it had been published."""

    deposit: Deposit
    next: str = ""
    unchanged: bool = False


def run(
    export: ExportFolder,
    repository: Repository,
    request: DepositRequest,
    report: GateReport,
    now: Now,
    start: Callable[[Mapping[str, Path]], Advance],
) -> Done:
    """Deposit an export that has passed the gate, or continue; `start` is given the files and returns what to call with
    the progress. Raises DepositError with what to do next; what was done until then is recorded."""
    if report.open:
        raise DepositError("The gate has open findings, so nothing is deposited")
    before = None if request.new else read_record(export.path).deposit(repository.name, repository.server)
    until = _embargo(repository, request, before, now()[:10])
    with TemporaryDirectory(prefix="parley-deposit-") as made:
        files = repository.files(export, Path(made))
        if before and before.state == "published":
            return _published_before(export, before)
        deposit, place = _place(export, repository, request, before, now)
        if place.public is not None:
            return _published_meanwhile(export, repository, deposit, place, place.public, now)
        repository.describe(place, export, until)
        gone = {*deposit.sha256} - {*files}
        version = repository.upload(place, Upload(files, gone), start(files))
        deposit = _save(
            export,
            deposit,
            data=export.data,
            version=version,
            embargo_until=until.isoformat() if until else "",
            uploaded=now(),
            sha256={path: sha256_of(file) for path, file in files.items()},
            gate=gate_entry(report),
        )
    if not request.publish:
        return Done(deposit)
    published = repository.publish(place)
    return Done(_save_published(export, deposit, published, now), published.next)


def _embargo(repository: Repository, request: DepositRequest, before: Deposit | None, today: str) -> date | None:
    """The day until which the files are closed. A repository that keeps no embargo publishes on that day or later."""
    until = request.embargo_until
    if until is None and before and before.embargo_until:
        until = date.fromisoformat(before.embargo_until)
    ahead = until is not None and until.isoformat() > today
    if request.embargo_until is not None and not ahead:
        raise DepositError(f"--embargo-until {request.embargo_until}: give a day after today")
    if ahead and request.publish and not repository.embargoes:
        raise DepositError(
            f"{repository.name} keeps no embargo: there, an export stays private until it is published. Deposit it "
            f"without --publish, and run the command again with --publish on {until} or later"
        )
    return until if ahead else None


def _place(
    export: ExportFolder, repository: Repository, request: DepositRequest, before: Deposit | None, now: Now
) -> tuple[Deposit, Place]:
    """The draft to upload to, created if there is none; both are recorded."""
    if before and before.id and request.id not in ("", before.id):
        raise DepositError(f"This export is deposited as {before.id} ({before.url}). Leave out --id, or add --new")
    id_ = request.id or (before.id if before else "")
    if before and not id_:
        raise DepositError(
            f"An earlier run was interrupted while it created a deposit at {repository.server}, so there may be an "
            "empty one. Look there for it. If there is one, continue in it: --id ID; if not, add --new"
        )
    fresh = Deposit(to=repository.name, server=repository.server, data=export.data, state="creating", created=now())
    deposit = before or fresh
    place = repository.find(id_) if id_ else _created(export, repository, request, deposit)
    known = {"id": place.id, "url": place.url, "reserved_doi": place.reserved_doi, "state": "draft"}
    return _save(export, deposit, **known), place


def _created(export: ExportFolder, repository: Repository, request: DepositRequest, deposit: Deposit) -> Place:
    earlier = read_record(export.path)
    _save(export, deposit)
    try:
        return repository.create(export, request.name)
    except DepositError as error:
        if error.unsent or 400 <= error.status < 500:  # so there is none
            write_record(export.path, earlier)
        raise


def _published_before(export: ExportFolder, before: Deposit) -> Done:
    if before.data == export.data:
        return Done(before, unchanged=True)
    raise DepositError(
        f"An earlier state of this export is published: {before.url}. A published deposit does not change. To deposit "
        "this one as another, add --new"
    )


def _published_meanwhile(
    export: ExportFolder, repository: Repository, deposit: Deposit, place: Place, public: Published, now: Now
) -> Done:
    """A draft that somebody published there, or whose publication could not be recorded."""
    if not deposit.uploaded or deposit.data != export.data:
        raise DepositError(
            f"{place.url} is public already, and does not have this export. To deposit this one elsewhere, add --new"
        )
    if not public.doi:
        public = repository.publish(place)
    return Done(_save_published(export, deposit, public, now), public.next)


def _save_published(export: ExportFolder, deposit: Deposit, published: Published, now: Now) -> Deposit:
    return _save(export, deposit, state="published", url=published.url, doi=published.doi, published=now())


def _save(export: ExportFolder, deposit: Deposit, **changes: object) -> Deposit:
    """Record a deposit with changes."""
    changed = deposit.model_copy(update=changes)
    write_record(export.path, read_record(export.path).with_deposit(changed))
    return changed
