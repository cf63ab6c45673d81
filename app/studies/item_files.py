"""The files of items in a draft's folder, which a researcher uploads, replaces and removes.

A file is kept only once it could be read as a table, so a damaged one never takes the place of a sound one. Names come
from a browser: they name a file in the folder itself, of a kind that `problems/tables.py` reads.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from cachetools import LRUCache, cached

from app.studies.draft_files import check_name, keep_file, names_in, version_of
from problems.errors import ProblemError
from problems.tables import READERS, Table, read_table

# So that a file fits in an event of the console's page (1 MiB), in base64.
LARGEST_BYTES = 750_000
MOST_FILES = 50
KEPT_CELLS = 1_000_000


class ItemFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> tuple[str, ...]:
        return names_in(self._folder, READERS)

    def read(self, name: str, sheet: str = "", question: str = "") -> Table:
        """Read a file as `read_table` does, or return the cached table; raises ProblemError."""
        path = self._path(name)
        found = _read_once(path, sheet, question, version_of(path))
        if isinstance(found, ProblemError):
            raise ProblemError(*found.args)
        return found

    def size(self, name: str) -> int:
        return self._path(name).stat().st_size

    def keep(self, name: str, content: bytes) -> Table:
        """Replace one of the same name; raises ProblemError, and keeps it, if this is unreadable or too large."""
        check_name(name, READERS, "table that Parley reads")
        if len(content) > LARGEST_BYTES:
            raise ProblemError(f"{name} has {len(content):,} bytes; at most {LARGEST_BYTES:,} are allowed. Divide it.")
        return keep_file(self._folder, name, content, READERS, MOST_FILES, _read)

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
            raise ProblemError(f"There is no file {name!r} in this draft. Reload the page to see its files.")
        return self._folder / name


def _read(path: Path, sheet: str = "", question: str = "") -> Table:
    """Read a file; its errors name it without its folder, which is the server's."""
    try:
        return read_table(path, sheet, question)
    except ProblemError as error:
        raise ProblemError(*(str(part).replace(f"{path.parent}{os.sep}", "") for part in error.args)) from None


def _cells(table: Table | ProblemError) -> int:
    return 1 if isinstance(table, ProblemError) else min(KEPT_CELLS, len(table.rows) * len(table.columns))


@cached(LRUCache[Any, Table | ProblemError](KEPT_CELLS, _cells), lock=Lock())
def _read_once(path: Path, sheet: str, question: str, _version: tuple[int, ...]) -> Table | ProblemError:
    """Read a table, or return the error; both are cached, so that looking at a draft does not repeat the work."""
    try:
        return _read(path, sheet, question)
    except ProblemError as error:
        return error
