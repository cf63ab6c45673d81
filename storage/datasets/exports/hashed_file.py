"""A file that is hashed and counted while it is written."""

from __future__ import annotations

from hashlib import sha256
from io import RawIOBase
from typing import Any, BinaryIO


class Hashed(RawIOBase):
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
