"""`SHA256SUMS`: the checksum of every file of an export, as `sha256sum -c` reads it."""

from __future__ import annotations

from collections.abc import Mapping

NAME = "SHA256SUMS"


def sums(hashes: Mapping[str, str]) -> str:
    """The lines for files by their paths, in order."""
    return "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes))


def listed(text: str) -> list[str]:
    """The paths in such lines."""
    return [line.split("  ", 1)[1] for line in text.splitlines()]
