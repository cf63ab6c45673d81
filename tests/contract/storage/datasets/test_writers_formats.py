"""Copies of exported files in other formats: typed, complete, and the same for the same data."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.manifest import ExportManifest
from storage.datasets.writers import FORMATS
from storage.db.engine import Database
from storage.errors import StorageError


def rows(found: ExportManifest, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (found.folder / path).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def dices(filled: Database, tmp_path_factory: pytest.TempPathFactory) -> ExportManifest:
    return export(
        filled, ExportRequest("dices-350", "dices-350", formats=tuple(FORMATS)), tmp_path_factory.mktemp("dices")
    )


@pytest.fixture(scope="module")
def chatbench(filled: Database, tmp_path_factory: pytest.TempPathFactory) -> ExportManifest:
    request = ExportRequest("chatbench", "chatbench", formats=tuple(FORMATS))
    return export(filled, request, tmp_path_factory.mktemp("chatbench"))


def test_parquet_has_the_types_of_the_columns_and_every_row(chatbench: ExportManifest) -> None:
    import pyarrow.parquet as pq

    for file in chatbench.files:
        table = pq.read_table(chatbench.folder / file.path.replace(Path(file.path).suffix, ".parquet"))
        assert table.to_pylist() == rows(chatbench, file.path.replace(Path(file.path).suffix, ".jsonl"))
        assert len(table) == file.rows
        kinds = {"text": "string", "integer": "int64", "number": "double"}
        for column, field in zip(file.columns, table.schema, strict=True):
            assert column.kind == "json" or str(field.type) == kinds[column.kind]
            assert field.metadata == {b"description": column.meaning.encode()}
    talks = pq.read_schema(chatbench.folder / "full_study/conversations.parquet")
    assert [field.name for field in talks.field("chat_history").type.value_type] == ["role", "content"]


def test_what_a_missing_package_needs_is_told(
    filled: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(StorageError, match=r"pip install 'parley-studies\[parquet\]'"):
        export(filled, ExportRequest("dices-350", "dices-350", formats=("parquet",)), tmp_path)
    assert list(tmp_path.iterdir()) == []
