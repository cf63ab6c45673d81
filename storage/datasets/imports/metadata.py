"""Read the Croissant 1.0 `metadata.json` beside an imported file, written by Parley or others.

Files with the columns of a release are not always the release: Parley's exports have these columns too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

KNOWN = ("name", "description", "license", "citeAs", "url")
NAME = "metadata.json"


def described(file: Path, released: str) -> Mapping[str, str]:
    """The description of the data, by Croissant's names. Empty if no metadata describe this file, which has the path
    `released` in its release."""
    folders = [file.parent, file.parent.parent] if "/" in released else [file.parent]
    for folder in folders:
        read = _read(folder / NAME)
        if {file.name, released} & {str(item.get("contentUrl")) for item in _parts(read)}:
            return {key: text for key in KNOWN if isinstance(text := read.get(key), str) and text}
    return {}


def _read(path: Path) -> Mapping[str, Any]:
    """Read a metadata file; empty if it is not one."""
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _parts(read: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    parts = read.get("distribution")
    return (item for item in parts if isinstance(item, dict)) if isinstance(parts, list) else iter(())
