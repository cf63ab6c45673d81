"""The tidy tables as data frames."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

from app.extensions.analysis.public import load
from storage.datasets.tidy.columns import NAME
from storage.db.engine import Database
from storage.errors import StorageError
from tests.contract.test_tidy import TABLES
from tests.fakes.databases import export


def test_one_line_gives_the_tables_as_data_frames(filled: Database, tmp_path: Path) -> None:
    data = load("demo", database=filled)
    export(filled, "demo", NAME, tmp_path)
    for table in TABLES:
        frame = getattr(data, table)
        rows = pd.read_csv(tmp_path / f"{table}.csv", keep_default_na=False, na_values=[""], dtype="str")
        assert [*frame.columns] == [*rows.columns]
        assert len(frame) == len(rows)
        assert frame["session"].tolist() == rows["session"].tolist()
        assert frame.notna().sum().tolist() == rows.notna().sum().tolist()
    with (tmp_path / "answers.csv").open(encoding="utf-8", newline="") as file:
        answers = list(csv.DictReader(file))
    answered = data.answers.query("question == 'answer'")
    assert answered.correct.mean() == sum(row["correct"] == "1" for row in answers) / len(answered)
    assert str(data.answers.time.dtype).endswith("UTC]")
    assert data.sessions.outcome.cat.categories[0] == "complete"
    with pytest.raises(StorageError, match="Did you mean 'demo'"):
        load("dmo", database=filled)
