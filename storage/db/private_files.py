"""Files that hold what people gave or who they are, and the folders of such files: for their owner alone. They are made
so, and not made so afterwards: in between every account of the machine could open them."""

from __future__ import annotations

import errno
import getpass
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock

from storage.errors import StorageError

FILE, FOLDER = 0o600, 0o700

log = logging.getLogger(__name__)


def create(path: Path) -> BinaryIO:
    """A new file; raises FileExistsError."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE), "wb")


def unwritable(path: Path, error: OSError) -> StorageError:
    """The reason names the folder in question and the right that is missing."""
    folder = path.absolute().parent
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            advice = "free some space"
        case errno.EROFS:
            advice = "it is mounted read-only: mount it so that it can be written"
        case _:
            advice = f"the user {_user()} needs the rights to read, write and enter it (chown, or chmod u+rwx)"
    return StorageError(
        f"{folder}: Parley cannot write {path.name} in this folder ({error.strerror}); {advice}, or name a database in "
        "another folder: PARLEY_DATABASE_URL"
    )


def _user() -> str:
    """The user that this process runs as; its number where the system has no name for it, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def new_folder(path: Path) -> None:
    """A new folder; raises FileExistsError."""
    path.mkdir(FOLDER)


def make_folder(path: Path) -> None:
    if not path.is_dir():
        make_folder(path.parent)
        with suppress(FileExistsError):
            new_folder(path)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """A file that has its name once it is whole; raises StorageError where it cannot be written."""
    part = path.with_name(f".{path.name}.unfinished")
    try:
        if path.exists() and not path.is_file():  # a device or a pipe
            with path.open("wb") as there:
                yield there
            return
        part.unlink(missing_ok=True)
        with create(part) as file:
            yield file
        write_private(part, path)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}. Choose another place") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_private(part: Path, to: Path) -> None:
    """Give a whole file its name, on the disk."""
    with part.open("rb+") as written:
        os.fsync(written.fileno())
    part.replace(to)
    if os.name == "posix":
        above = os.open(to.parent, os.O_RDONLY)
        os.fsync(above)
        os.close(above)


def hold_lock(lock: Path) -> FileLock | None:
    """Hold a lock file until the process ends or releases it; None while another process holds it."""
    found = FileLock(lock, mode=FILE, thread_local=False)
    try:
        found.acquire(blocking=False)
    except OSError:  # a Timeout is one
        return None
    return found


def delete_abandoned(folder: Path, lock: Path) -> bool:
    """Delete a folder that a killed process left, unless another still holds the lock in it."""
    held = hold_lock(lock)
    if held is None:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    held.release()
    return True
