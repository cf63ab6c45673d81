"""What `metadata.json` beside a file says of it, as Parley writes it and other Croissant 1.0 has it.

Files with the columns of a release need not be the release: an export of Parley's has them as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

KNOWN = ("name", "description", "license", "citeAs", "url")
NAME = "metadata.json"


def described(file: Path, released: str) -> Mapping[str, str]:
    """What is said of the data, by Croissant's names; nothing where no metadata tell of this file, whose path in its
    release is `released`."""
    folders = [file.parent, file.parent.parent] if "/" in released else [file.parent]
    for folder in folders:
        read = _read(folder / NAME)
        if {file.name, released} & {str(item.get("contentUrl")) for item in _parts(read)}:
            return {key: text for key in KNOWN if isinstance(text := read.get(key), str) and text}
    return {}


def _read(path: Path) -> Mapping[str, Any]:
    """A file of metadata; nothing where it is none."""
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _parts(read: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    parts = read.get("distribution")
    return (item for item in parts if isinstance(item, dict)) if isinstance(parts, list) else iter(())
