"""The disks and folders: free space, and whether files can be made where Parley makes some."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from pathlib import Path

from app.alerts.conditions import Observations, conditions
from app.alerts.observe import disks, thresholds_of
from app.alerts.text import what_happened, what_to_do
from app.config.settings import Settings, env_name
from app.doctor.finding import Deployment, Diagnosis, Level, error, ok, warning
from app.studies.drafts import Drafts
from storage.db.database_url import sqlite_path
from storage.registers.alerts import Alert


def check_disk(deployment: Deployment) -> Iterator[Diagnosis]:
    """Each folder that Parley writes into, the disks below them, and the folder of recordings."""
    settings = deployment.settings
    folders = dict(_folders(settings))
    for folder, purpose in folders.items():
        yield _writable(folder, purpose)
    yield from _drafts(settings)
    yield from _space(settings, [*folders])
    if settings.replay_dir is not None and not settings.replay_dir.is_dir():
        yield error(
            f"{env_name('replay_dir')} names {settings.replay_dir}, which is no folder.", "Make it, or name another."
        )


def unwritable_drafts(settings: Settings) -> Iterator[Diagnosis]:
    """An error for the folder of drafts if it cannot be written, and for each draft in it that cannot."""
    folder = settings.studies_dir.resolve()
    found = _writable(folder, _drafts_in(settings))
    if found.level is Level.ERROR:
        yield found
    yield from _drafts(settings)


def _drafts(settings: Settings) -> Iterator[Diagnosis]:
    drafts = Drafts(settings.studies_dir.resolve())
    for name in drafts.names():
        found = _writable(drafts.folder(name), f"the changes of the draft {name}")
        if found.level is Level.ERROR:
            yield found


def _drafts_in(settings: Settings) -> str:
    return f"study drafts ({env_name('studies_dir')})"


def _folders(settings: Settings) -> Iterator[tuple[Path, str]]:
    """Each folder once, with what is written into it."""
    yield Path(tempfile.gettempdir()), "uploads and exports of the console"
    yield Path.cwd(), "exports and reports of commands in this folder"
    yield settings.studies_dir.resolve(), _drafts_in(settings)
    if (file := sqlite_path(settings.database_url)) is not None:
        yield file.resolve().parent, f"the database and its secret ({env_name('database_url')})"


def _writable(folder: Path, purpose: str) -> Diagnosis:
    """Make a file, which is gone at once. A folder that is not there yet is made in the nearest one that is."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(b"Parley")
            file.flush()
    except OSError as fault:
        return error(f"{folder} cannot be written, where {purpose} belong: {fault.strerror}.", _advice(fault, there))
    return ok(f"{folder} can be written: {purpose}.")


def _advice(fault: OSError, folder: Path) -> str:
    match fault.errno:
        case errno.EROFS:
            return "The disk is read-only: mount it writable, or choose another folder."
        case errno.ENOSPC | errno.EDQUOT:
            return "The disk or the user's share of it is full: delete files, or use a larger one."
        case errno.ENOTDIR:
            return f"{folder} is a file: choose a folder."
        case _:
            return "Run Parley as the user who owns the folder, or give this user the right to write there."


def _space(settings: Settings, folders: list[Path]) -> Iterator[Diagnosis]:
    """What an alert would say now."""
    found = tuple(disks(folders))
    full = conditions(Observations(disks=found), thresholds_of(settings))
    for condition in full:
        alert = Alert(condition.key, condition.data, 0, 0, 0)
        yield warning(f"{what_happened(alert)}.", what_to_do(alert))
    if not full:
        free = min(disk.free for disk in found) / 1e9
        yield ok(f"At least {free:,.0f} GB are free on each disk.")
