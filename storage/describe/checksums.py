"""`SHA256SUMS`: the checksum of every file of an export, as `sha256sum -c` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

NAME = "SHA256SUMS"


def checksum(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    found = sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
    return found.hexdigest()


def sums(hashes: Mapping[str, str]) -> str:
    """The lines for files by their paths, in order."""
    return "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes))


def listed(text: str) -> list[str]:
    """The paths in such lines."""
    return [line.split("  ", 1)[1] for line in text.splitlines()]
