"""Every config of an export loads with Hugging Face's `datasets`, without a network, with its types and every value."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.imports.importer import import_files
from storage.db.engine import Database
from storage.schemas.registry import schema as schema_of
from tests.fakes.sessions import STUDIES
from tests.readers.conftest import ExportOf, RunReader

pytestmark = pytest.mark.nightly

EVERYTHING = str(STUDIES / "everything.yaml")
# Schemas, with a study that has their data.
CASES = {
    "chatbench": "chatbench",
    "mathconverse": "mathconverse",
    "arena": "arena",
    "arena-2025": "arena",
    "dices-350": "dices-350",
    "dices-990": "dices-990",
    "taxonomy": EVERYTHING,
}
SAFE = "mathconverse for spreadsheets"
EXPORTS = (*CASES, SAFE)


def released(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of every released file, by the name of its config; of a csv the cells."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in (json.loads((folder / "codebook.json").read_bytes()))["files"]:
        file = folder / path["path"]
        with file.open(encoding="utf-8-sig", newline="") as opened:
            rows = json.load(opened) if file.suffix == ".json" else list(csv.DictReader(opened))
        if rows:  # datasets does not load a file without any
            found[path["path"].rpartition(".")[0].replace("/", "-")] = rows
    return found


def cell(value: Any, like: Any, names: list[str] | None) -> Any:
    """A loaded value as it stands in the released file."""
    if value is None:
        return "" if isinstance(like, str) else None
    value = names[value] if names else value
    if isinstance(like, str) and isinstance(value, int | float):
        return like if float(like) == value else value
    return value


def same(loaded: dict[str, Any], there: list[dict[str, Any]]) -> None:
    assert len(loaded["rows"]) == len(there) > 0
    for row, wanted in zip(loaded["rows"], there, strict=True):
        names = {key: key or "Unnamed: 0" for key in wanted}
        found = {key: cell(row[name], wanted[key], loaded["labels"].get(name)) for key, name in names.items()}
        assert found == wanted


@pytest.fixture(scope="module")
def folders(export_of: ExportOf) -> dict[str, Path]:
    """The exports by their schemas."""
    found = {schema: export_of(study, schema) for schema, study in CASES.items()}
    return found | {SAFE: export_of("mathconverse", "mathconverse", safe=True)}


@pytest.fixture(scope="module")
def loaded(folders: dict[str, Path], run_reader: RunReader) -> dict[str, Any]:
    """What `datasets` loads from each of them."""
    found = run_reader("configs", *folders.values())
    return {name: found[str(folder)] for name, folder in folders.items()}


@pytest.mark.parametrize("export", EXPORTS)
def test_every_config_loads_with_every_value(export: str, folders: dict[str, Path], loaded: dict[str, Any]) -> None:
    there = released(folders[export])
    assert loaded[export]["configs"].keys() == there.keys()
    assert loaded[export]["default"] == next(iter(there))
    for name, rows in there.items():
        same(loaded[export]["configs"][name], rows)


@pytest.mark.parametrize("export", EXPORTS)
def test_closed_columns_are_class_labels_in_the_order_of_the_release(export: str, loaded: dict[str, Any]) -> None:
    configs = loaded[export]["configs"]
    for table in schema_of(export.split()[0]).tables:
        name = table.path(table.parts[0]).rpartition(".")[0].replace("/", "-")
        if name in configs:
            closed = {column.name: list(column.form.choices) for column in table.ours if column.form.choices}
            assert configs[name]["labels"] == closed
    assert any(config["labels"] for config in configs.values())


def test_whole_numbers_are_whole_numbers(loaded: dict[str, Any]) -> None:
    answers, talks = (
        loaded["chatbench"]["configs"][f"full_study-{name}"] for name in ("user_answers", "conversations")
    )
    assert answers["dtypes"]["position"] == talks["dtypes"]["acc"] == "int64"
    assert loaded["dices-350"]["configs"]["diverse_safety_adversarial_dialog_350"]["dtypes"]["id"] == "int64"


def test_imported_numbers_load_however_they_are_spelled(
    database: Database, run_reader: RunReader, tmp_path: Path
) -> None:
    header = [column.name for column in schema_of("chatbench").tables[0].columns]
    rows = [
        "007abc,None,direct-to-AI,math,1.0,phase_1,3,user-AI,mmlu,mmlu-redux-1,not-confident,A,True",
        "1e5,NA,answer-first,moral,,phase_1,4,user-alone,mmlu,mmlu-redux-2,,,",
    ]
    (tmp_path / "user_answers.csv").write_text("\n".join([",".join(header), *rows]) + "\n")
    import_files(database, "chatbench", [tmp_path / "user_answers.csv"], "released")
    export(database, ExportRequest("released", "chatbench"), tmp_path / "out")
    ((found,),) = (each["configs"].values() for each in run_reader("configs", tmp_path / "out").values())
    same(found, [dict(zip(header, row.split(","), strict=True)) for row in rows])
