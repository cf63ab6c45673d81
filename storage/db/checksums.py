"""`SHA256SUMS`: the checksum of every file of an export, as `sha256sum -c` reads it; by it an export knows its own."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import file_digest
from pathlib import Path

NAME = "SHA256SUMS"


def sums(hashes: Mapping[str, str]) -> str:
    return "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes))


def recorded(folder: Path, name: str = NAME) -> Mapping[str, str]:
    """The checksum of each file that was exported into a folder; none where nothing was. `name` is their file."""
    file = folder / name
    if not file.is_file():
        return {}
    lines = (line.split("  ", 1) for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
    return {line[1]: line[0] for line in lines if len(line) > 1}


def sha256_of(file: Path) -> str:
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def is_ours(folder: Path, name: str, known: Mapping[str, str]) -> bool:
    """True if a file of an export's folder is as the export left it, by the checksums recorded there."""
    path = folder / name
    if not (path.is_file() and path.resolve().is_relative_to(folder.resolve())):
        return False
    if name == NAME:
        return bool(known)
    if name not in known:
        return False
    return sha256_of(path) == known[name]
