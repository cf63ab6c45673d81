"""Where an export has the file of a picture."""

from __future__ import annotations

from collections.abc import Mapping

FOLDER = "pictures"
ENDINGS: Mapping[str, str] = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


def picture_path(sha256: str, type_: str) -> str:
    """The path of a picture's file in an export."""
    return f"{FOLDER}/{sha256}.{ENDINGS[type_]}"
