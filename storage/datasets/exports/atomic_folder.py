"""The folder of an export: its files take their places together, and nothing that somebody else wrote is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from io import RawIOBase
from pathlib import Path
from typing import Any, BinaryIO

from storage.datasets.describe import NAMES
from storage.db.checksums import is_ours, recorded
from storage.db.private_files import make_folder
from storage.errors import StorageError


class HashingFile(RawIOBase):
    """Passes bytes on to a file; `sha256` and `bytes` are of all that was written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._hash, self.bytes = file, sha256(), 0

    @property
    def sha256(self) -> str:
        """The digest so far, in hex."""
        return self._hash.hexdigest()

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Pass on some bytes."""
        self._hash.update(data)
        self.bytes += len(data)
        self._file.write(data)
        return len(data)


MOST_NAMED = 5


@contextmanager
def writing(folder: Path, names: Sequence[str]) -> Iterator[Mapping[str, Path]]:
    """Where to write the files of these names beside their places, which they take once all of them are whole.

    Raises StorageError where a file is in the way that is not as an earlier export left it.
    """
    _nobody_elses(folder, (*names, *NAMES))
    paths = {name: (folder / name).with_name(f".{Path(name).name}.unfinished") for name in names}
    try:
        for path in paths.values():
            make_folder(path.parent)
            path.unlink(missing_ok=True)
        yield paths
        for name, path in paths.items():
            path.replace(folder / name)
    finally:
        for path in paths.values():
            path.unlink(missing_ok=True)


def _nobody_elses(folder: Path, names: Sequence[str]) -> None:
    known = recorded(folder)
    found = [name for name in names if (folder / name).exists() and not is_ours(folder, name, known)]
    if found:
        more = ", ..." if len(found) > MOST_NAMED else ""
        raise StorageError(
            f"{folder}: the folder has {', '.join(found[:MOST_NAMED])}{more}, not written by an export or changed "
            "since, which this export would overwrite. Nothing was written. Choose another folder, or move it away"
        )
