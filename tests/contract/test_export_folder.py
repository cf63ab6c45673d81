"""The folder of an export: what an export left there is replaced by the next, and nothing else is touched."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from storage.datasets.describe.export_folder import edited
from storage.datasets.describe.zip_file import zip_export
from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.db.engine import Database
from storage.errors import StorageError

SUMS = ["sha256sum"] if shutil.which("sha256sum") else ["shasum", "-a", "256"]
CHATBENCH = ExportRequest("chatbench", "chatbench", "bot")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "name", ["README.md", "codebook.md", "study.json", "full_study/user_answers.csv", "SHA256SUMS"]
)
def test_somebody_elses_file_is_not_overwritten(filled: Database, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine\n", encoding="utf-8")
    with pytest.raises(StorageError, match=name):
        export(filled, CHATBENCH, tmp_path)
    assert contents(tmp_path) == {name: b"mine\n"}


def test_what_was_changed_since_is_not_overwritten(filled: Database, tmp_path: Path) -> None:
    made = export(filled, CHATBENCH, tmp_path)
    path = tmp_path / made.files[0].path
    path.write_bytes(path.read_bytes() + b"a note\n")
    was = contents(tmp_path)
    with pytest.raises(StorageError, match=made.files[0].path):
        export(filled, CHATBENCH, tmp_path)
    assert contents(tmp_path) == was


def test_another_schema_takes_the_place_but_of_what_was_changed(filled: Database, tmp_path: Path) -> None:
    made = export(filled, CHATBENCH, tmp_path)
    changed, *others = (tmp_path / file.path for file in made.files)
    changed.write_bytes(changed.read_bytes() + b"a note\n")
    export(filled, replace(CHATBENCH, schema="tidy"), tmp_path)
    assert changed.read_bytes().endswith(b"a note\n")
    assert others
    assert not any(path.exists() for path in others)


def test_an_export_that_stops_leaves_what_was_there(filled: Database, tmp_path: Path) -> None:
    export(filled, CHATBENCH, tmp_path)
    was = contents(tmp_path)
    told: list[str] = []

    def stop(name: str, rows: int) -> None:
        told.append(name)
        if len(set(told)) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(filled, ExportRequest("chatbench", "chatbench", "bot", safe=True), tmp_path, stop)
    assert contents(tmp_path) == was


CARD = "README.md"


def checked(folder: Path) -> None:
    subprocess.run([*SUMS, "-c", "SHA256SUMS"], cwd=folder, capture_output=True, check=True)


def edit(path: Path) -> bytes:
    path.write_bytes(path.read_bytes() + b"By hand.\n")
    return path.read_bytes()


def test_an_edited_card_is_kept_and_packed(filled: Database, tmp_path: Path) -> None:
    export(filled, CHATBENCH, tmp_path)
    mine = edit(tmp_path / CARD)
    checked(tmp_path)
    for _ in range(2):
        export(filled, CHATBENCH, tmp_path)
        assert ((tmp_path / CARD).read_bytes(), edited(tmp_path)) == (mine, [CARD])
    edit(tmp_path / "codebook.md")
    with pytest.raises(StorageError, match=r"codebook\.md"):
        export(filled, CHATBENCH, tmp_path)
    with ZipFile(zip_export(tmp_path)) as packed:
        assert packed.read(CARD) == mine
