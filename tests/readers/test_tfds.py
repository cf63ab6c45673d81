"""The DICES builder of tensorflow-datasets encodes every feature of every row of an export of a study's own data."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from storage.schemas.registry import schema
from tests.readers.conftest import ExportOf, RunReader

pytestmark = pytest.mark.nightly

# The builder's own name of a column.
RENAMED = {"rater_race_raw": "rater_raw_race"}
BLANK = {"degree_of_harm": "No annotation", "harm_type": "No annotation", "rater_race_raw": ""}


def expected(row: Mapping[str, str]) -> dict[str, Any]:
    """A row as the builder's code reads it from the cells."""
    found: dict[str, Any] = {RENAMED.get(name, name): cell or BLANK.get(name) for name, cell in row.items()}
    found |= {
        name: int(row[name])
        for name in ("id", "rater_id", "item_id", "answer_time_ms", "answer_timestamp")
        if name in row
    }
    found["harm_type"] = [label.capitalize() for label in found["harm_type"].split(",")]
    if "safety_gold_reason" in row:
        assert row["safety_gold_reason"] == "[]"
        found["safety_gold_reason"] = '[""]'
    return found


def check(run_reader: RunReader, edition: str, file: Path) -> None:
    encoded = run_reader("tfds_rows", edition.removeprefix("dices-"), file)
    with file.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    (table,) = schema(edition).tables
    assert len(encoded) == len(rows) > 0
    assert {len(row) for row in encoded} == {len(table.header)}
    assert encoded == [expected(row) for row in rows]


@pytest.mark.parametrize("edition", ["dices-350", "dices-990"])
def test_every_feature_of_every_row_is_encoded(edition: str, run_reader: RunReader, export_of: ExportOf) -> None:
    (table,) = schema(edition).tables
    check(run_reader, edition, export_of(edition, edition, 5) / table.file)


@pytest.mark.parametrize("edition", ["dices-350", "dices-990"])
def test_the_released_rows_are_encoded_in_the_same_way(edition: str, run_reader: RunReader, shared: Path) -> None:
    check(run_reader, edition, shared / f"{edition.replace('-', '_')}_rows.csv")
