"""A JSON file that is a list of objects, one on a line; columns of kind json hold their value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

import orjson

from storage.schemas.base import Column


class JsonWriter:
    """Rows into a file."""

    def __init__(self, file: BinaryIO, columns: Sequence[Column]) -> None:
        self._file, self._names = file, [column.name for column in columns]
        self._json = [number for number, column in enumerate(columns) if column.kind == "json"]
        self._between = b"\n"
        file.write(b"[")

    def rows(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write some rows."""
        objects = []
        for row in rows:
            cells = list(row)
            for number in self._json:
                if isinstance(cells[number], str):
                    cells[number] = orjson.Fragment(cells[number])
            objects.append(orjson.dumps(dict(zip(self._names, cells, strict=True))))
        self._file.write(self._between + b",\n".join(objects))
        self._between = b",\n"

    def close(self) -> None:
        """End the list."""
        self._file.write(b"\n]\n")
