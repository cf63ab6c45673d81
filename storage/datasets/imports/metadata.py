"""Read the Croissant 1.0 `metadata.json` beside an imported file, written by Parley or others.

Files with the columns of a release are not always the release: Parley's exports have these columns too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

NAME = "metadata.json"
ORIGIN = "origin"
"""The name of the property by which an export says where its sessions come from."""
ALWAYS, UNCHANGED = ("description",), ("name", "license", "citeAs", "url")
"""What is said of a file even if it was changed since, and what only of the file as it was described."""


def described(file: Path, released: str, sha256: str) -> Mapping[str, str]:
    """The description of the data, by Croissant's names, and their `origin`. Empty if no metadata describe this file,
    which has the path `released` in its release.

    If the file is not the one with the checksum in the metadata, it was changed: then its licence and citation are
    unknown, but it keeps the mark of its origin.
    """
    folders = [file.parent, file.parent.parent] if "/" in released else [file.parent]
    for folder in folders:
        read = _read(folder / NAME)
        parts = {str(item.get("contentUrl")): item for item in _parts(read)}
        for name in {file.name, released} & parts.keys():
            names = (*ALWAYS, *UNCHANGED) if parts[name].get("sha256") == sha256 else ALWAYS
            found = {key: text for key in names if isinstance(text := read.get(key), str) and text}
            return found | _origin(read)
    return {}


def _origin(read: Mapping[str, Any]) -> dict[str, str]:
    """The mark of origin that exports carry."""
    properties = read.get("additionalProperty")
    for item in properties if isinstance(properties, list) else ():
        if isinstance(item, dict) and item.get("name") == ORIGIN and isinstance(item.get("value"), str):
            return {ORIGIN: item["value"]}
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
