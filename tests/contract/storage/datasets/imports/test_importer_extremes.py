"""Files of extremes: lines longer than any chat, told without being held; and no rows, which is allowed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.imports.detect_files import ReleaseFile
from storage.datasets.imports.importer import deviations, import_files
from storage.datasets.imports.records import MOST
from storage.db.engine import Database
from storage.errors import BadFile
from storage.log.projections import differences
from storage.schemas.registry import schemas
from tests.fakes.databases import read_tables

pytestmark = pytest.mark.nightly

ANSWERS = (
    "worker_id,model,condition,subject,batch,phase,position,answer_type,dataset,question_id,confidence,"
    "selected_answer,acc\n"
)
# Files that go on with the longest of models.
BEGUN = {"user_answers.csv": f"{ANSWERS}a1,", "conversations.json": '[{"worker_id": "a1", "model": "'}


def long(path: Path, characters: int) -> Path:
    with path.open("w") as file:
        file.write(BEGUN[path.name])
        for _ in range(characters // MOST):
            file.write("x" * MOST)
    return path


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("user_answers.csv", ("row 1 (line 2), column 'model'", "a line of more than 16,777,216 characters: 'a1,xxx")),
        ("conversations.json", ("row 1 (line 1)", "a record is longer than 16,777,216 characters")),
    ],
)
def test_a_line_beyond_all_measure_is_told(
    name: str, said: tuple[str, ...], database: Database, tmp_path: Path
) -> None:
    path = long(tmp_path / name, MOST + MOST)
    before = read_tables(database)
    with pytest.raises(BadFile) as caught:
        import_files(database, "chatbench", [path], "s")
    for words in said:
        assert words in str(caught.value)
    assert len(str(caught.value)) < 1_000
    assert read_tables(database) == before
    assert len([item for item in deviations("chatbench", [path]) if not isinstance(item, ReleaseFile)]) == 1


@pytest.mark.parametrize("schema", schemas())
def test_files_without_rows_are_read_and_come_back(schema: str, database: Database, tmp_path: Path) -> None:
    release = tmp_path / "release"
    for table in schemas()[schema].tables:
        path = release / table.path(table.parts[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[]" if path.suffix == ".json" else ",".join(map(quoted, table.header)) + "\n")
    assert [item for item in deviations(schema, [release]) if not isinstance(item, ReleaseFile)] == []
    for _ in range(2):
        assert {(file.rows, file.new) for file in import_files(database, schema, [release], "s")} == {(0, 0)}
    for file in export(database, ExportRequest("s", schema), tmp_path / "out").files:
        read, written = (release / file.path).read_text(), (tmp_path / "out" / file.path).read_text()
        assert written == read if file.path.endswith(".csv") else json.loads(written) == []
    assert list(differences(database)) == []


def quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"' if {",", '"'} & set(name) else name
