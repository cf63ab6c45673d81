"""`metadata.json` is Croissant: the reference reader finds no error in it, and every row by it."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from storage.describe import describe
from storage.describe.croissant import record_set
from storage.schemas.registry import schemas
from tests.fakes.exported import ROWS, exported, value

IN_CI = os.environ.get("CI") == "true"
UNKNOWN = ("datePublished", "version", "license", "citeAs")
"""What is recommended and may be unknown."""

pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")  # rdflib's own


@pytest.fixture(scope="module", autouse=True)
def _reader() -> None:
    if find_spec("mlcroissant") is None:
        refuse = pytest.fail if IN_CI else pytest.skip
        refuse("mlcroissant, by which the metadata are validated, is not installed: pip install mlcroissant")


def records(folder: Path, path: str) -> list[dict[str, Any]]:
    """The rows as mlcroissant reads them, by column."""
    import mlcroissant

    name = record_set(path)
    found = mlcroissant.Dataset(folder / "metadata.json").records(name)
    return [{key.removeprefix(f"{name}/"): _plain(item) for key, item in row.items()} for row in found]


def _plain(item: Any) -> Any:
    if isinstance(item, list):
        return [{key.rpartition("/")[2]: _plain(part) for key, part in message.items()} for message in item]
    return item.decode() if isinstance(item, bytes) else item


@pytest.mark.parametrize("origin", ["person", "import"])
@pytest.mark.parametrize("name", schemas())
def test_mlcroissant_validates_the_metadata_and_reads_every_row(name: str, origin: str, tmp_path: Path) -> None:
    import mlcroissant

    export = exported(tmp_path, name, origin)
    describe(export)
    issues = mlcroissant.Dataset(tmp_path / "metadata.json").metadata.ctx.issues
    assert not issues.errors
    assert [warning for warning in issues.warnings if not any(word in warning for word in UNKNOWN)] == []
    for file in export.files:
        wanted = [{column.sql: value(column, row) for column in file.columns} for row in range(ROWS)]
        found = records(tmp_path, file.path)
        assert list(found[0]) == list(wanted[0])
        assert [{key: str(item) for key, item in row.items()} for row in found] == [
            {key: str(item) for key, item in row.items()} for row in wanted
        ]


def test_a_licence_is_claimed_for_published_data_only(tmp_path: Path) -> None:
    for origin in ("import", "person"):
        describe(exported(tmp_path / origin, "chatbench", origin))
    known = [json.loads((tmp_path / origin / "metadata.json").read_bytes()).keys() for origin in ("import", "person")]
    assert {"license", "citeAs", "url"} <= known[0]
    assert not {"license", "citeAs", "url"} & known[1]
