"""What lies beside exported data: it tells every column, adds up, invents nothing, and follows from the data."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.study.resolve import restore
from experiments.study.study import Study
from storage.datasets.describe.export_folder import describe
from storage.datasets.describe.zip_file import zip_export
from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.writers import FORMULA_STARTS, escaped, is_formula
from storage.db.engine import Database
from storage.schemas.registry import schemas
from tests.fakes.exported import exported
from tests.fakes.sessions import study

SUMS = ["sha256sum"] if shutil.which("sha256sum") else ["shasum", "-a", "256"]


def text(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def changed(original: Study, old: str, new: str) -> Study:
    assert old in original.document
    return restore(original.document.replace(old, new).replace('"version":1', '"version":2', 1))


# The codebook


@pytest.mark.parametrize("name", schemas())
def test_the_codebook_tells_every_column(name: str, tmp_path: Path) -> None:
    made = exported(tmp_path, name)
    describe(made)
    book, page = json.loads(text(tmp_path, "codebook.json")), text(tmp_path, "codebook.md")
    assert [sheet["path"] for sheet in book["files"]] == [file.path for file in made.files]
    for sheet, file in zip(book["files"], made.files, strict=True):
        assert [entry["name"] for entry in sheet["columns"]] == [column.name for column in file.columns]
        for entry, column in zip(sheet["columns"], file.columns, strict=True):
            assert all(entry[key] for key in ("type", "meaning", "source", "allowed"))
            assert entry["values"] == dict(column.form.labels)
            assert bool(entry["wordings"]) == bool(column.asked) or column.asked == ("rater_locale",)
            assert column.meaning in page
            assert all(label in page for label in column.form.labels.values())


def entry(folder: Path, column: str) -> Mapping[str, Any]:
    book = json.loads(text(folder, "codebook.json"))
    return next(found for sheet in book["files"] for found in sheet["columns"] if found["name"] == column)


# The studies, the checksums, the zip


def test_the_frozen_study_is_there_to_the_byte(tmp_path: Path) -> None:
    first = study("chatbench")
    describe(exported(tmp_path / "one", "chatbench"))
    assert sha256((tmp_path / "one/study.json").read_bytes()).hexdigest() == first.hash
    second = changed(first, "Thank you for considering", "Thanks for considering")
    describe(exported(tmp_path / "two", "chatbench", studies=[first, second]))
    hashes = {path.name: sha256(path.read_bytes()).hexdigest() for path in (tmp_path / "two").glob("study-*.json")}
    assert hashes == {f"study-{found.hash[:12]}.json": found.hash for found in (first, second)}
    assert restore(text(tmp_path / "one", "study.json")) == first


@pytest.mark.parametrize("safe", [False, True])
def test_a_real_export_explains_itself_and_is_the_same_again(filled: Database, safe: bool, tmp_path: Path) -> None:
    request = ExportRequest("chatbench", "chatbench", safe=safe)
    packed = [zip_export(export(filled, request, tmp_path / name).folder).read_bytes() for name in ("a", "b")]
    assert packed[0] == packed[1]
    subprocess.run([*SUMS, "-c", "SHA256SUMS"], cwd=tmp_path / "a", capture_output=True, check=True)
    assert sha256((tmp_path / "a/study.json").read_bytes()).hexdigest() == study("chatbench").hash
    assert "SIMULATED" in text(tmp_path / "a", "README.md")
    assert ("not the exact data" in text(tmp_path / "a", "README.md")) is safe


# The card


# Formulas


@given(st.text() | st.builds("".join, st.tuples(st.sampled_from(FORMULA_STARTS), st.text())))
def test_an_escaped_cell_never_runs(cell: str) -> None:
    assert not is_formula(escaped(cell))
    assert escaped(cell).removeprefix("'") == cell.removeprefix("'")
    assert is_formula(cell) == (escaped(cell) != cell)
