"""Exports whose free text is masked, in the release's files and in tidy tables, never repeated."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from storage.datasets.imports.importer import deviations
from storage.datasets.imports.records import CellDeviation
from storage.db.engine import Database
from tests.fakes.commanding import Done, parley
from tests.fakes.visits import Visits, begin

pytestmark = pytest.mark.anyio
MAIL, PHONE = "anna.m@example.org", "+49 30 1234567"


@pytest.fixture
async def visits(tmp_path: Path, database: Database) -> Visits:
    found = begin(tmp_path, database)
    await found.take_part("5f3a0c6e9d1b2a7c4e8f0d12", f"Yours, {MAIL} ({PHONE})")
    await found.runtime.close()
    return found


def export(visits: Visits, schema: str, to: str, *more: str) -> Path:
    done = _export(visits, schema, to, *more)
    assert done.returncode == 0, done.stderr
    return visits.folder / to


def _export(visits: Visits, schema: str, to: str, *more: str) -> Done:
    return parley("export", "short", "--schema", schema, "-o", to, *more, folder=visits.folder)


def everything(folder: Path) -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("schema", ["chatbench", "tidy"])
async def test_a_mask_leaves_nothing_and_keeps_the_schema(visits: Visits, schema: str) -> None:
    plain = export(visits, schema, "plain")
    masked = export(visits, schema, "masked", "--mask-personal-data")
    text = everything(masked)
    assert MAIL in everything(plain)
    assert (MAIL in text, PHONE in text) == (False, False)
    assert text.count("[EMAIL]") > 1
    assert "## Personal data" in (masked / "README.md").read_text(encoding="utf-8")
    if schema == "chatbench":
        assert not any(isinstance(one, CellDeviation) for one in deviations("chatbench", [masked]))
    for file in (one for one in plain.rglob("*.csv") if "messages" not in one.name and "nswers" not in one.name):
        assert (masked / file.relative_to(plain)).read_text() == file.read_text(), "nothing else is touched"


@pytest.mark.parametrize(("schema", "column"), [("chatbench", "chat_history"), ("tidy", "text")])
async def test_a_column_that_is_left_out_is_in_no_file(visits: Visits, schema: str, column: str) -> None:
    assert _export(visits, schema, "none", "--without", f"{column}s").returncode == 2
    there = export(visits, schema, "less", "--without", column)
    headers = [next(csv.reader([file.read_text(encoding="utf-8").split("\n")[0]])) for file in there.rglob("*.csv")]
    records = [row for file in there.glob("*/*.json") for row in json.loads(file.read_bytes())]
    books = json.loads((there / "codebook.json").read_bytes())["files"]
    assert headers
    assert bool(records) == (schema == "chatbench")
    assert not [header for header in headers if column in header]
    assert not [record for record in records if column in record]
    assert not [book for book in books if column in [one["name"] for one in book["columns"]]]
    assert f"Columns that were left out: `{column}`." in (there / "README.md").read_text(encoding="utf-8")
