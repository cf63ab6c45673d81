"""`metadata.json` is Croissant: the reference reader finds no error in it, and every row by it."""

from __future__ import annotations

import csv
import json
import os
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from storage.columns import Column, JsonColumn
from storage.datasets.describe.croissant import record_set
from storage.datasets.describe.export_folder import describe
from storage.datasets.manifest import ExportedFile, ExportManifest
from storage.schemas.registry import schemas
from tests.fakes.exported import ROWS, exported, value

IN_CI = os.environ.get("CI") == "true"
# What is recommended and may be unknown.
UNKNOWN = ("datePublished", "version", "license", "citeAs")

pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")  # rdflib's own


@pytest.fixture(scope="module", autouse=True)
def _reader() -> None:
    if find_spec("mlcroissant") is None:
        refuse = pytest.fail if IN_CI else pytest.skip
        refuse("mlcroissant, by which the metadata are validated, is not installed: pip install mlcroissant")


def valid(folder: Path) -> Any:
    """The data set as mlcroissant loads it, with no error and no warning of what could be known."""
    import mlcroissant

    found = mlcroissant.Dataset(folder / "metadata.json")
    issues = found.metadata.ctx.issues
    assert not issues.errors
    assert [warning for warning in issues.warnings if not any(word in warning for word in UNKNOWN)] == []
    return found


def records(dataset: Any, path: str) -> list[dict[str, Any]]:
    """The rows of a file as mlcroissant reads them, by the columns' names in the database."""
    name = record_set(path)
    return [{key.removeprefix(f"{name}/"): _plain(item) for key, item in row.items()} for row in dataset.records(name)]


def _plain(item: Any) -> Any:
    if isinstance(item, list):
        return [{key.rpartition("/")[2]: _plain(part) for key, part in message.items()} for message in item]
    return item.decode() if isinstance(item, bytes) else item


def rows(folder: Path, file: ExportedFile) -> list[dict[str, Any]]:
    with (folder / file.path).open(encoding="utf-8-sig", newline="") as opened:
        if file.path.endswith(".json"):
            return [{column.sql: row[column.name] for column in file.columns} for row in json.load(opened)]
        kinds: dict[str, Any] = {"integer": int, "number": float, "text": str}
        return [
            {c.sql: kinds[c.kind](cell) if cell else None for c, cell in zip(file.columns, row, strict=True)}
            for row in list(csv.reader(opened))[1:]
        ]


def reads_the_same(found: ExportManifest) -> None:
    dataset = valid(found.folder)
    for file in found.files:
        there = rows(found.folder, file)
        assert len(there) == file.rows
        known = [column.sql for column in file.columns if can_be_described(column)]
        assert records(dataset, file.path) == [{name: row[name] for name in known} for row in there]


def can_be_described(column: Column) -> bool:
    """Croissant has no type for objects in objects, nor for values without a shape."""
    shape = column.form.shape if isinstance(column.form, JsonColumn) else "text"
    return isinstance(shape, str) or (
        isinstance(shape, tuple) and all(isinstance(part, str) for part in shape[0].values())
    )


@pytest.mark.parametrize(("name", "origin"), [*zip(schemas(), cycle(["person", "import"]), strict=False)])
def test_the_metadata_of_every_schema_are_valid_and_give_every_row(name: str, origin: str, tmp_path: Path) -> None:
    found = exported(tmp_path, name, origin)
    describe(found)
    reads_the_same(found)
    assert rows(tmp_path, found.files[0])[0] == {c.sql: value(c, 0) for c in found.files[0].columns}
    assert found.files[0].rows == ROWS
