"""A report of ChatBench's release is about one of its parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.extensions.analysis.report import build_report
from app.extensions.analysis.report.build import flow_stages
from app.extensions.analysis.report.data_formats import contents
from storage.datasets.imports.importer import import_files
from storage.db.engine import Database
from storage.schemas.chatbench import PARTS
from tests.fakes.release import SIZES, release

__all__ = ["release"]


@pytest.fixture
def imported(database: Database, release: Path) -> Database:
    for part in PARTS:
        paths = [release / part / part / name for name in ("user_answers.csv", "conversations.json")]
        import_files(database, "chatbench", paths, "published")
    return database


@pytest.mark.nightly
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
