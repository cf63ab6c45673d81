"""Exports have the pictures of their study: each file by its hash, with a table of names and alternative texts."""

from __future__ import annotations

import asyncio
import csv
import io
import subprocess
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest

from app.studies.loader import load_study
from storage.datasets.describe.zip_file import zip_export
from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.db.engine import Database
from tests.contract.test_export_folder import SUMS, contents
from tests.fakes import pictures
from tests.fakes.databases import fill
from tests.fakes.pictures import drawn

REQUEST = ExportRequest("charts", "tidy", "bot")


def played(database: Database, file: Path) -> None:
    study = load_study(str(file))
    asyncio.run(fill(database, [study], 2, f"{study.file.version}"))


@pytest.fixture
def charted(database: Database, tmp_path: Path) -> Database:
    (tmp_path / "author").mkdir()
    played(database, pictures.study(tmp_path / "author"))
    return database


def table(folder: Path) -> list[dict[str, str]]:
    text = (folder / "pictures.csv").read_text(encoding="utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_each_picture_is_a_file_and_has_a_row_for_each_alternative_text(charted: Database, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export(charted, REQUEST, out)
    rows = table(out)
    named = {(row["name"] if not row["name"].startswith("data-") else "data", row["alt"]) for row in rows}
    assert named == {
        ("logo.webp", "The logo"),
        ("logo.webp", "this line"),
        ("charts/right-answer-b.png", "A line that falls from the left to the right"),
        ("up.gif", "It rises"),
        ("up.gif", "A rising line"),
        ("data", "It falls"),
    }
    for row in rows:
        content = (out / row["file"]).read_bytes()
        assert sha256(content).hexdigest() == row["sha256"]
        assert row["sha256"] in row["file"]
    (logo, _) = (row for row in rows if row["name"] == "logo.webp")
    assert (out / logo["file"]).read_bytes() == drawn(120, 60, "WEBP")
    assert [logo[name] for name in ("version", "type", "width", "height")] == ["1", "image/webp", "120", "60"]
    assert {path.name for path in (out / "pictures").iterdir()} == {Path(row["file"]).name for row in rows}
    assert "pictures.csv" in (out / "README.md").read_text(encoding="utf-8")
    assert subprocess.run([*SUMS, "-c", "SHA256SUMS"], cwd=out, capture_output=True, check=False).returncode == 0
    with ZipFile(zip_export(out)) as archive:
        assert {row["file"] for row in rows} | {"pictures.csv"} <= set(archive.namelist())


def test_a_second_version_adds_its_pictures_and_another_export_removes_them(charted: Database, tmp_path: Path) -> None:
    out, author = tmp_path / "out", tmp_path / "author"
    export(charted, REQUEST, out)
    was = contents(out)
    export(charted, REQUEST, out)
    assert contents(out) == was
    path = pictures.study(author, version=2)
    (author / "logo.webp").write_bytes(drawn(120, 60, "WEBP", rising=True))
    played(charted, path)
    export(charted, REQUEST, out)
    logos = {row["version"]: row["sha256"] for row in table(out) if row["name"] == "logo.webp"}
    assert logos == {
        "1": sha256(drawn(120, 60, "WEBP")).hexdigest(),
        "2": sha256(drawn(120, 60, "WEBP", rising=True)).hexdigest(),
    }
    assert len(list((out / "pictures").iterdir())) == 5
