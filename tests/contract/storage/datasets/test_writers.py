"""The copy of a csv in JSON Lines: typed, complete, and listed with its checksum."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.db.engine import Database

VALUES = {"text": str, "integer": int, "number": float}


def test_a_csv_beside_a_json_file_has_a_copy_with_its_values(filled: Database, tmp_path: Path) -> None:
    found = export(filled, ExportRequest("chatbench", "chatbench"), tmp_path)
    sums = (tmp_path / "SHA256SUMS").read_text(encoding="utf-8")
    copied = [file for file in found.files if file.lines]
    assert {file.path for file in found.files if file.path.endswith(".csv")} == {file.path for file in copied}
    for file in copied:
        lines = (tmp_path / file.lines.path).read_text(encoding="utf-8").splitlines()
        with (tmp_path / file.path).open(encoding="utf-8", newline="") as opened:
            rows = list(csv.DictReader(opened))
        assert len(lines) == len(rows) == file.rows
        for line, row in zip(map(json.loads, lines), rows, strict=True):
            assert list(line) == list(row)
            assert {name: "" if value is None else str(value) for name, value in line.items()} == row
            assert all(line[one.name] is None or type(line[one.name]) is VALUES[one.kind] for one in file.columns)
        assert f"{file.lines.sha256}  {file.lines.path}" in sums
