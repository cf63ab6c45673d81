"""Exports that are imported: they stay what they were, whatever release their columns are those of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.imports.importer import import_files
from storage.db.engine import Database


def card(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def test_simulated_sessions_are_no_release_for_having_been_imported(
    filled: Database, database: Database, tmp_path: Path
) -> None:
    export(filled, ExportRequest("chatbench", "chatbench"), tmp_path / "own")
    import_files(database, "chatbench", [tmp_path / "own"], "again")
    made = export(database, ExportRequest("again", "chatbench"), tmp_path / "again")
    told = card(tmp_path / "again")
    assert "imported from files" in told
    assert "THEY ARE SIMULATED" in told
    assert "Those authors did not produce the data." in told
    assert "The licence." in told
    known = json.loads((tmp_path / "again/metadata.json").read_bytes())
    assert not {"license", "citeAs", "url"} & known.keys()
    assert "THEY ARE SIMULATED" in known["description"]
    assert made.schema.licence.lower().replace(" ", "-") not in told


def test_a_release_is_one_wherever_it_went(shared: Path, database: Database, tmp_path: Path) -> None:
    """Through an export and back it has the licence and the citation of the release."""
    import_files(database, "mathconverse", [shared / "mathconverse_part.csv"], "published")
    export(database, ExportRequest("published", "mathconverse"), tmp_path / "first")
    import_files(database, "mathconverse", [tmp_path / "first"], "twice")
    export(database, ExportRequest("twice", "mathconverse"), tmp_path / "second")
    first, second = (json.loads((tmp_path / name / "metadata.json").read_bytes()) for name in ("first", "second"))
    assert first["citeAs"]
    for name in ("license", "citeAs", "url"):
        assert first.get(name) == second.get(name)


@pytest.mark.parametrize("text", ["{", '{"distribution": [1, {"contentUrl": 2}]}'])
def test_other_metadata_beside_a_file_say_nothing(
    text: str, filled: Database, database: Database, tmp_path: Path
) -> None:
    export(filled, ExportRequest("mathconverse", "mathconverse"), tmp_path / "own")
    (tmp_path / "own/metadata.json").write_text(text, encoding="utf-8")
    import_files(database, "mathconverse", [tmp_path / "own"], "again")
    export(database, ExportRequest("again", "mathconverse"), tmp_path / "again")
    assert "Their metadata describe them as" not in card(tmp_path / "again")
