"""Exports made by hand: small files of every table of a schema, as if they had been exported."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from experiments.study.study import Study
from storage.columns import MESSAGES, Column, JsonColumn, PythonLiteral, Shape
from storage.datasets.manifest import ExportedFile, ExportManifest
from storage.schemas.base import ReleasedTable
from storage.schemas.registry import schema
from tests.fakes.sessions import STUDIES, study

ROWS = 3
SAID = [{"role": "user", "content": "Hm?\n“So”"}, {"role": "assistant", "content": ""}]
EVERYTHING = str(STUDIES / "everything.yaml")
# The studies that ask what a schema has, where it is not the one of its name.
RECORDED = {"taxonomy": (EVERYTHING,), "arena": ("arena", EVERYTHING), "arena-2025": ("arena",)}
SOURCE = {"part": "full_study", "file": "there.csv", "rows": 3, "sha256": "ab" * 32}


def value(column: Column, row: int) -> Any:
    """A value that may stand in a column; unknown in the last row, where that is allowed."""
    if column.form.blank and row == ROWS - 1:
        return None
    if column.kind == "json":
        shape = column.form.shape if isinstance(column.form, JsonColumn) else None
        return SAID[: row + 1] if shape == MESSAGES else of_shape(shape, row)
    labels = [] if isinstance(column.form, PythonLiteral) else list(column.form.labels)
    if labels:
        return int(labels[row % len(labels)]) if column.kind == "integer" else labels[row % len(labels)]
    return {"text": f'"{column.name}",\n= ü {row}', "integer": row, "number": row + 0.5}[column.kind]


def of_shape(shape: Shape | None, row: int) -> Any:
    match shape:
        case None:
            return {"turns": row}
        case "boolean":
            return bool(row)
        case "text":
            return f"ü “{row}”\n"
        case (item,):
            return [of_shape(item, n) for n in range(row + 1)]
        case _:
            return {name: of_shape(part, row) for name, part in shape.items()}


def write(folder: Path, table: ReleasedTable, part: str) -> ExportedFile:
    path = folder / table.path(part)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{column.name: value(column, row) for column in table.ours} for row in range(ROWS)]
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".json":
            json.dump(rows, file, ensure_ascii=False)
        else:
            csv.writer(file, lineterminator="\n").writerows([table.header, *(row.values() for row in rows)])
    content = path.read_bytes()
    hash_ = sha256(content).hexdigest()
    return ExportedFile(table, table.path(part), table.ours, ROWS, len(content), hash_, {table.header[0]: 2})


def exported(folder: Path, name: str, origin: str = "person", studies: Sequence[Study] | None = None) -> ExportManifest:
    found = schema(name)
    files = tuple(write(folder, table, part) for table in found.tables for part in table.parts)
    if origin == "import":
        return ExportManifest("demo", found, origin, 3, folder, files, (), (SOURCE,))
    own = map(study, RECORDED.get(name, (name,))) if studies is None else studies
    return ExportManifest("demo", found, origin, 3, folder, files, tuple(own))
