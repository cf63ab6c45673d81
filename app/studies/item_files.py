"""The files of items in a draft's folder: what a researcher uploads, replaces and removes.

A file is kept only once it could be read as a table, so a damaged one never takes the place of a sound one. Names come
from a browser: they name a file in the folder itself, of a kind that `problems/tables.py` reads.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile, ZipFile

from problems.errors import ProblemError
from problems.tables import READERS, Table, read_table

LARGEST_BYTES = 750_000
"""So that a file fits in an event of the console's page (1 MiB), in base64."""
LARGEST_UNPACKED = 40_000_000
"""Bytes of an Excel file's sheets once they are unpacked."""
MOST_FILES = 50
LONGEST_NAME = 100
"""Characters of a file's name."""
_SEPARATORS = ("/", "\\", ":")


class ItemFiles:
    """The files of items that lie directly in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> tuple[str, ...]:
        """The files there are, in the order of the alphabet."""
        return tuple(sorted(path.name for path in self._folder.iterdir() if _counts(path)))

    def read(self, name: str) -> Table:
        """Read a file, or what was read of it since it was kept; raises ProblemError."""
        path = self._path(name)
        known = path.stat()
        return _read_once(path, (known.st_ino, known.st_mtime_ns, known.st_ctime_ns, known.st_size))

    def size(self, name: str) -> int:
        """How many bytes a file has."""
        return self._path(name).stat().st_size

    def keep(self, name: str, content: bytes) -> Table:
        """Keep a file, in place of one of the same name, and read it. Raises ProblemError and keeps the one before if
        the new one cannot be read, or is too large."""
        there = self.names()
        _check_name(name)
        if len(content) > LARGEST_BYTES:
            raise ProblemError(f"{name} has {len(content):,} bytes; at most {LARGEST_BYTES:,} are allowed. Divide it.")
        if name not in there and (self._folder / name).exists():
            raise ProblemError(f"{name} is something else in this draft's folder. Rename the file and upload it again.")
        if name not in there and len(there) >= MOST_FILES:
            raise ProblemError(f"A draft has at most {MOST_FILES} files. Remove one that is not used.")
        with TemporaryDirectory(dir=self._folder, prefix=".upload-") as private:
            path = Path(private) / name
            path.touch(mode=0o600)
            path.write_bytes(content)
            table = _read(path)
            with path.open("rb") as file:
                os.fsync(file.fileno())
            path.replace(self._folder / name)
        return table

    def remove(self, name: str, pools: Mapping[str, Mapping[str, Any]]) -> None:
        """Remove a file; raises ProblemError if one of the study's pools reads it."""
        path = self._path(name)
        if users := [pool for pool, given in pools.items() if given.get("path") == name]:
            raise ProblemError(
                f"{name} is read by the pool {', '.join(users)}. Give that another file first, or upload a file "
                f"of the same name to replace this one."
            )
        path.unlink()

    def _path(self, name: str) -> Path:
        if name not in self.names():
            raise ProblemError(f"There is no file {name!r} in this draft. Reload the page to see which there are.")
        return self._folder / name


def _counts(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.suffix.lower() in READERS and path.name[0] != "."


def _check_name(name: str) -> None:
    plain = name.isprintable() and not any(sign in name for sign in _SEPARATORS) and name == name.strip()
    if not plain or name[:1] in ("", ".") or len(name) > LONGEST_NAME:
        raise ProblemError(
            f"{name[:LONGEST_NAME]!r} is no name for a file; allowed: at most {LONGEST_NAME} characters, "
            f"none of {' '.join(_SEPARATORS)}, no dot first. Rename it and upload it again."
        )
    if Path(name).suffix.lower() not in READERS:
        raise ProblemError(f"{name} is no table that Parley reads; allowed: {', '.join(READERS)}.")


def _read(path: Path) -> Table:
    """Read a file; its errors name it without its folder, which is the server's."""
    try:
        if path.suffix.lower() == ".xlsx":
            _check_unpacked(path)
        return read_table(path)
    except ProblemError as error:
        raise ProblemError(*(str(part).replace(f"{path.parent}{os.sep}", "") for part in error.args)) from None


@lru_cache(maxsize=8)
def _read_once(path: Path, _version: tuple[int, ...]) -> Table:
    return _read(path)


def _check_unpacked(path: Path) -> None:
    """Refuse an archive that unpacks to far more than it has; a part is never unpacked beyond the size it declares."""
    try:
        with ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except BadZipFile:
        return  # the reader says what is wrong
    if size > LARGEST_UNPACKED:
        raise ProblemError(f"{path}: unpacks to {size:,} bytes; at most {LARGEST_UNPACKED:,} are allowed.")
