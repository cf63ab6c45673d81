"""Write the files of an export into a folder, all of them at once, without overwriting files of other origin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from io import RawIOBase
from pathlib import Path
from typing import Any, BinaryIO

from storage.datasets.describe import NAMES
from storage.datasets.describe.editable_files import NEW, edited, written_before
from storage.db.checksums import is_ours, recorded
from storage.db.private_files import make_folder
from storage.errors import StorageError


class HashingFile(RawIOBase):
    """Writes to a file, and computes the SHA-256 and the number of the bytes written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._hash, self.bytes = file, sha256(), 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._hash.update(data)
        self.bytes += len(data)
        self._file.write(data)
        return len(data)


MOST_NAMED = 5


@contextmanager
def writing(folder: Path, names: Sequence[str], also: Sequence[str] = ()) -> Iterator[Mapping[str, Path]]:
    """Yield temporary paths for the named files; the files are moved into place once all of them are complete.

    `also` are describing files that not every export has. Raises StorageError if a file of any of these names exists
    that is not an unchanged file of an earlier export. Files that
    people edit are kept where they were edited, so only the new text of an earlier export beside them is in question.
    """
    _nobody_elses(folder, (*names, *NAMES, *also), recorded(folder))
    _nobody_elses(folder, [name + NEW for name in edited(folder)], written_before(folder))
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


def _nobody_elses(folder: Path, names: Sequence[str], known: Mapping[str, str]) -> None:
    found = [name for name in names if (folder / name).exists() and not is_ours(folder, name, known)]
    if found:
        more = ", ..." if len(found) > MOST_NAMED else ""
        raise StorageError(
            f"{folder}: the folder has {', '.join(found[:MOST_NAMED])}{more}, not written by an export or changed "
            "since, which this export would overwrite. Nothing was written. Choose another folder, or move it away"
        )
