"""Exports as commands and the console ask for them: one for each schema, and a zip file that is told before it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.bots.dry_run import estimate_by_simulation
from app.studies.loader import find, load_study, read_yaml
from app.use_cases.export import requests_of, write_export
from storage.datasets.exports.plan import ExportRequest
from storage.db.engine import Database
from tests.fakes import studies
from tests.fakes.databases import fill


def test_a_request_without_a_schema_is_one_for_each_that_the_sessions_are_in(database: Database) -> None:
    asyncio.run(fill(database, ["mathconverse"], 1, "1"))
    asked = ExportRequest("mathconverse", "", safe=True)
    assert [(one.schema, one.safe) for one in requests_of(database, asked)] == [("mathconverse", True), ("tidy", True)]
    assert requests_of(database, ExportRequest("nothing", "tidy")) == [ExportRequest("nothing", "tidy")]


def test_a_format_in_which_no_session_has_a_row_is_known_before_it_is_written(tmp_path: Path) -> None:
    raw = {**read_yaml(find("mathconverse")), "export_schemas": ["mathconverse", "dices-350"]}
    tried = asyncio.run(estimate_by_simulation(load_study(str(studies.write(tmp_path, raw))), 1, 300))
    assert tried.empty == ("dices-350",)


def test_an_export_that_is_stopped_before_it_is_packed_has_no_zip_file(database: Database, tmp_path: Path) -> None:
    asyncio.run(fill(database, ["mathconverse"], 1, "1"))
    request, told = ExportRequest("mathconverse", "tidy"), list[str]()

    def stop(path: str, _: int) -> None:
        told.append(path)
        if path == "out.zip":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_export(database, request, tmp_path / "out", zipped=True, on_rows=stop)
    assert told[-1] == "out.zip"
    assert not (tmp_path / "out.zip").exists()
    written, packed = write_export(database, request, tmp_path / "out", zipped=True)
    assert (packed.name, packed.is_file(), written.sessions) == ("out.zip", True, 1)
