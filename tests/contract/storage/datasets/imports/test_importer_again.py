"""Exports that are imported: they stay what they were, whatever release their columns are those of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.imports.importer import import_files
from storage.db.engine import Database


def card(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def metadata(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "metadata.json").read_bytes())
    return found


def origin(folder: Path) -> str:
    (found,) = (item["value"] for item in metadata(folder)["additionalProperty"] if item["name"] == "origin")
    return str(found)


def again(database: Database, folder: Path, study: str) -> Path:
    """The folder of an export of what was imported from a folder or file."""
    import_files(database, "chatbench", [folder], study)
    return export(database, ExportRequest(study, "chatbench"), folder.parent / study).folder


@pytest.fixture
def simulated(filled: Database, tmp_path: Path) -> Path:
    return export(filled, ExportRequest("chatbench", "chatbench"), tmp_path / "own").folder


LICENCE = {"license", "citeAs", "url"}


def test_simulated_sessions_stay_simulated_however_often_they_are_imported(simulated: Path, database: Database) -> None:
    number = len(set(pd.read_csv(simulated / "full_study/user_answers.csv")["worker_id"]))
    once = again(database, simulated, "once")
    for folder in (once, again(database, once, "twice")):
        assert origin(folder) == "bot"
        assert "SIMULATED DATA" in card(folder)
        assert f"{number} simulated sessions" in metadata(folder)["description"]
        assert "Those authors did not produce the data." in card(folder)
        assert "license: unknown" in card(folder)
        assert not LICENCE & metadata(folder).keys()


def test_a_changed_file_loses_the_licence_and_keeps_its_origin(
    filled: Database, database: Database, tmp_path: Path
) -> None:
    own = export(filled, ExportRequest("chatbench", "chatbench"), tmp_path / "own").folder
    described = metadata(own) | {"license": "https://spdx.org/licenses/CC0-1.0", "citeAs": "Us"}
    (own / "metadata.json").write_text(json.dumps(described), encoding="utf-8")
    same = metadata(again(database, own, "same"))
    assert (same["license"], same["citeAs"]) == (described["license"], "Us")
    answers = own / "full_study/user_answers.csv"
    lines = answers.read_text(encoding="utf-8").splitlines()
    answers.write_text("\n".join(lines[:-3]) + "\n", encoding="utf-8")
    folder = again(database, own, "changed")
    assert not LICENCE & metadata(folder).keys()
    assert origin(folder) == "bot"
