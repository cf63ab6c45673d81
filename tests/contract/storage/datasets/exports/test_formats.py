"""Copies of exported files in other formats: typed, labelled, complete, and the same for the same data."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from storage.datasets.exports.exporter import export
from storage.datasets.exports.formats import FORMATS
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.manifest import ExportManifest
from storage.datasets.variable_names import LIMITS, variable_names
from storage.db.engine import Database
from storage.errors import StorageError
from storage.schemas.registry import schemas

pytest.importorskip("pyreadstat", exc_type=ImportError)

REASON = "Q2_harmful_content_medical_legal_financial_or_relationship_advice"


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


@pytest.mark.parametrize("suffix", ["sav", "dta"])
def test_spss_and_stata_have_labels_of_variables_and_values(dices: ExportManifest, suffix: str) -> None:
    import pyreadstat

    (file,) = dices.files
    frame, about = getattr(pyreadstat, f"read_{suffix}")(dices.folder / file.path.replace("csv", suffix))
    names = variable_names(file.columns, suffix)
    assert list(frame) == [names[column.name] for column in file.columns]
    meaning = next(column.meaning for column in file.columns if column.name == REASON)
    label = about.column_names_to_labels[names[REASON]]
    assert meaning.startswith(label)
    assert len(label) > 70  # Stata holds 80 characters
    assert about.variable_value_labels[names[REASON]] == {1: "No", 2: "Yes", 3: "Unsure"}
    ages = about.variable_value_labels["rater_age"]
    assert list(ages.values()) == ["gen z", "millenial", "gen x+"]
    known = rows(dices, file.path.replace("csv", "jsonl"))
    labels = about.variable_value_labels
    for column in file.columns:
        cells = [cell if cell == cell else None for cell in frame[names[column.name]].tolist()]
        if column.form.choices:
            cells = [labels[names[column.name]].get(cell) for cell in cells]
        wanted = [row[column.name] for row in known]
        assert cells == (wanted if column.kind != "text" or column.form.choices else [cell or "" for cell in wanted])


@pytest.mark.parametrize("suffix", LIMITS)
@pytest.mark.parametrize("schema", schemas().values(), ids=lambda schema: schema.name)
def test_names_of_variables_are_allowed_and_differ(schema: Any, suffix: str) -> None:
    for table in schema.tables:
        names = variable_names(table.columns, suffix).values()
        assert len({name.lower() for name in names}) == len(table.columns)
        assert all(len(name) <= LIMITS[suffix] and name.isidentifier() and name[0].isalpha() for name in names)


def test_the_same_data_have_the_same_copies(filled: Database, dices: ExportManifest, tmp_path: Path) -> None:
    again = export(filled, ExportRequest("dices-350", "dices-350", formats=tuple(FORMATS)), tmp_path)
    assert again.files == dices.files
    sums = (tmp_path / "SHA256SUMS").read_text(encoding="utf-8")
    assert all(f"{copy.sha256}  {copy.path}" in sums for file in again.files for copy in file.copies)


@pytest.mark.parametrize(
    ("package", "format_", "extra"), [("pyarrow", "parquet", "parquet"), ("pyreadstat", "sav", "spss")]
)
def test_what_a_missing_package_needs_is_told(
    package: str, format_: str, extra: str, filled: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(StorageError, match=rf"pip install 'parley-studies\[{extra}\]'"):
        export(filled, ExportRequest("dices-350", "dices-350", formats=(format_,)), tmp_path)
    assert list(tmp_path.iterdir()) == []
