"""Files in a draft's folder: names that a browser may give, and replacing a file as a whole."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from problems.errors import ProblemError
from storage.db.private_files import delete_abandoned, hold_lock

log = logging.getLogger(__name__)

# How the folder of an upload begins, the lock in it, and how a draft ends that is being saved.
UPLOAD, LOCK, PART = ".upload-", ".lock", ".part"
OLD_S = 60
LONGEST_NAME = 100
_SEPARATORS = ("/", "\\", ":")
Read = TypeVar("Read")


def names_in(folder: Path, endings: Collection[str]) -> tuple[str, ...]:
    """The files directly in a folder with one of these endings, in the order of the alphabet."""

    def counts(path: Path) -> bool:
        return path.is_file() and not path.is_symlink() and path.suffix.lower() in endings and path.name[0] != "."

    return tuple(sorted(path.name for path in folder.iterdir() if counts(path)))


def version_of(path: Path) -> tuple[int, int, int, int]:
    """A key that changes with the file; its last part is the size."""
    known = path.stat()
    return known.st_ino, known.st_mtime_ns, known.st_ctime_ns, known.st_size


def check_name(name: str, endings: Collection[str], what: str) -> None:
    """Raise ProblemError unless the name is of a file in the folder itself; `what` says what such a file is."""
    plain = name.isprintable() and not any(sign in name for sign in _SEPARATORS) and name == name.strip()
    if not plain or name[:1] in ("", ".") or len(name) > LONGEST_NAME:
        raise ProblemError(
            f"{name[:LONGEST_NAME]!r} is not a name for a file; allowed: at most {LONGEST_NAME} characters, "
            f"none of {' '.join(_SEPARATORS)}, no dot first. Rename it and upload it again."
        )
    if Path(name).suffix.lower() not in endings:
        raise ProblemError(f"{name} is no {what}; allowed: {', '.join(endings)}.")


def keep_file(
    folder: Path, name: str, content: bytes, endings: Collection[str], most: int, read: Callable[[Path], Read]
) -> Read:
    """Keep a file in place of one of the same name, and return what `read` gives. The one before stays if that raises.
    Raises ProblemError if the folder has as many files with these endings as it may have (`most`)."""
    there = names_in(folder, endings)
    if name not in there and (folder / name).exists():
        raise ProblemError(f"{name} is something else in this draft's folder. Rename the file and upload it again.")
    if name not in there and len(there) >= most:
        raise ProblemError(f"A draft has at most {most} such files. Remove one that is not used.")
    with TemporaryDirectory(dir=folder, prefix=UPLOAD) as private, held_lock(Path(private) / LOCK):
        path = Path(private) / name
        path.touch(mode=0o600)
        path.write_bytes(content)
        found = read(path)
        with path.open("rb") as file:
            os.fsync(file.fileno())
        path.replace(folder / name)
    return found


@contextmanager
def held_lock(lock: Path) -> Iterator[None]:
    """Lock an upload's folder, so that it is not deleted as the rest of a killed console."""
    held = hold_lock(lock)
    try:
        yield
    finally:
        if held is not None:
            held.release()


def sweep_uploads(drafts: Path) -> None:
    """Delete what uploads of killed consoles left in the folders of drafts, and drafts that they were saving."""
    for folder in drafts.glob(f"*/{UPLOAD}*"):
        if folder.is_dir() and delete_abandoned(folder, folder / LOCK):
            log.info("deleted %s, left by a console killed while it received a file", folder)
    for part in drafts.glob(f"*/.*{PART}"):
        if time.time() - part.stat().st_mtime > OLD_S:
            part.unlink(missing_ok=True)
