"""What the authors published, and what our own studies export: both come back as they were."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.imports.importer import deviations, import_files
from storage.datasets.imports.records import CellDeviation
from storage.db.engine import Database
from storage.log.projections import differences, rebuild
from storage.schemas.registry import schema as schema_of
from tests.fakes.databases import fill, read_tables
from tests.fakes.sessions import NAMES, study

REAL = {
    "mathconverse": "mathconverse_part.csv",
    "taxonomy": "annotated_taxonomy_part.csv",
    "dices-350": "dices_350_rows.csv",
    "dices-990": "dices_990_rows.csv",
}
RECORDED = [(name, schema) for name in NAMES for schema in study(name).file.export_schemas]


def files(folder: Path, schema: str) -> dict[str, bytes]:
    paths = (table.path(part) for table in schema_of(schema).tables for part in table.parts)
    return {path: (folder / path).read_bytes() for path in paths if (folder / path).is_file()}


def told(schema: str, path: Path) -> list[str]:
    return [str(item) for item in deviations(schema, [path]) if isinstance(item, CellDeviation)]


@pytest.mark.parametrize("schema", REAL)
def test_a_published_file_comes_out_to_the_byte(schema: str, database: Database, tmp_path: Path, shared: Path) -> None:
    real = shared / REAL[schema]
    assert told(schema, real) == []
    (done,) = import_files(database, schema, [real], "s")
    assert done.new == done.rows > 0
    assert import_files(database, schema, [real], "s")[0].new == 0
    for folder in ("live", "rebuilt"):
        (written,) = export(database, ExportRequest("s", schema), tmp_path / folder).files
        assert (tmp_path / folder / written.path).read_bytes() == real.read_bytes()
        rebuild(database)
    assert list(differences(database)) == []


def test_an_import_beside_a_studys_own_sessions_leaves_them_alone(
    database: Database, tmp_path: Path, shared: Path
) -> None:
    asyncio.run(fill(database, ["mathconverse"], 2, "1"))
    export(database, ExportRequest("mathconverse", "mathconverse", "bot"), tmp_path / "before")
    real = shared / REAL["mathconverse"]
    import_files(database, "mathconverse", [real], "mathconverse")
    export(database, ExportRequest("mathconverse", "mathconverse", "bot"), tmp_path / "after")
    assert files(tmp_path / "before", "mathconverse") == files(tmp_path / "after", "mathconverse")
    export(database, ExportRequest("mathconverse", "mathconverse", "import"), tmp_path / "read")
    assert [*files(tmp_path / "read", "mathconverse").values()] == [real.read_bytes()]
    assert list(differences(database)) == []


@pytest.mark.parametrize(("name", "schema"), RECORDED, ids=[f"{Path(name).stem} {schema}" for name, schema in RECORDED])
def test_what_a_study_exports_is_valid_and_comes_back(
    name: str, schema: str, filled: Database, database: Database, tmp_path: Path
) -> None:
    written = export(filled, ExportRequest(study(name).name, schema), tmp_path / "first")
    assert sum(file.rows for file in written.files) > 0
    assert told(schema, tmp_path / "first") == []
    import_files(database, schema, [tmp_path / "first"], "copy")
    again = export(database, ExportRequest("copy", schema), tmp_path / "again")
    assert again.origin == "import"
    assert files(tmp_path / "again", schema) == files(tmp_path / "first", schema) != {}
    before = read_tables(database)
    rebuild(database)
    assert read_tables(database) == before
    assert list(differences(database)) == []


def test_nan_in_json_is_unknown_and_labels_may_be_missing(database: Database, tmp_path: Path) -> None:
    fields = [c.name for c in schema_of("chatbench").tables[2].columns[:14]]
    cells = ["w1", "gpt-4o", None, "math", 1, 1, 0, "user-AI", "d", "q", float("nan"), "A", 1]
    row = dict(zip(fields, [*cells, [{"role": "You", "content": "Hi"}]], strict=True))
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([row]), encoding="utf-8")
    import_files(database, "chatbench", [path], "pilot")
    out = export(database, ExportRequest("pilot", "chatbench"), tmp_path / "out")
    assert [file.path for file in out.files] == ["full_study/conversations.json"]
    assert json.loads((tmp_path / "out/full_study/conversations.json").read_text()) == [{**row, "confidence": None}]
