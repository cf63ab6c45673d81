"""The parts of ChatBench's release: a study is exported as one of them, and a report is about one of them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from app.extensions.analysis.report import build_report
from app.extensions.analysis.report.build import flow_stages
from app.extensions.analysis.report.data_formats import contents
from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.imports.importer import deviations, import_files
from storage.datasets.imports.records import CellDeviation
from storage.db.engine import Database
from storage.schemas.chatbench import PARTS
from tests.fakes.databases import fill
from tests.fakes.once import database_of

FULL, FIRST, SECOND = PARTS
SIZES = {FULL: 4, FIRST: 3, SECOND: 2}
"""The simulated participants of each part."""


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of three parts, each exported from a study of its own."""
    folder = tmp_path_factory.mktemp("release")
    for part, size in SIZES.items():

        def fill_part(database: Database, part: str = part, size: int = size) -> None:
            asyncio.run(fill(database, ["chatbench"], size, part))

        own = database_of(tmp_path_factory, part, fill_part)
        export(own, ExportRequest("chatbench", "chatbench", part=part), folder / part)
    return folder


@pytest.fixture
def imported(database: Database, release: Path) -> Database:
    for part in PARTS:
        paths = [release / part / part / name for name in ("user_answers.csv", "conversations.json")]
        import_files(database, "chatbench", paths, "published")
    return database


def test_a_study_is_exported_as_a_pilot_in_its_released_folder(release: Path) -> None:
    whole, pilot = files(release / FULL), files(release / FIRST)
    assert {name for name in whole if "/" in name} == {
        f"{FULL}/{name}"
        for name in (
            *("user_answers.csv", "user_answers.jsonl", "conversations.json"),
            *("user_answers_filtered.csv", "user_answers_filtered.jsonl"),
        )
    }
    assert {name for name in pilot if "/" in name} == {
        f"{FIRST}/{name}" for name in ("user_answers.csv", "user_answers.jsonl", "conversations.json")
    }
    assert "questions.csv" in pilot, "what belongs to the whole release is beside the folder"
    assert f"{FIRST}/user_answers.csv" in pilot["README.md"].decode()
    assert [one for one in deviations("chatbench", [release / FIRST]) if isinstance(one, CellDeviation)] == []


def test_a_report_is_about_one_part_and_says_where_the_others_are(imported: Database) -> None:
    for part, size in SIZES.items():
        made = build_report(imported, "published", "import", 0, part=part)
        others = {other: number for other, number in SIZES.items() if other != part}
        assert (made.flow.arrived, made.flow.part, dict(made.flow.elsewhere)) == (9, part, others)
        assert made.results.analysed == size
        first, second, last = flow_stages(made)
        assert [stage.number for stage in (first, second, last)] == [9, size, size]
        assert second.out is not None
        assert {words: number for number, words in second.out.items} == others
        assert last.out is None, "nobody of this part is left out"
        assert contents(made)["flow"]["part"] == part
        json.dumps(contents(made))
