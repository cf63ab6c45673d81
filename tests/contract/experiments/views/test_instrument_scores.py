"""The scores of instruments in the data of a study that fills no released schema: export, data frames, report."""

from __future__ import annotations

import asyncio
import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.bots.simulate import START_US, simulate
from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import SessionService
from app.studies.loader import load_study
from storage.datasets.tidy.columns import NAME, file_of
from storage.db.engine import Database, open_database
from storage.yaml_text import yaml_text
from tests.fakes.databases import export

PEOPLE = 14
RAW = {
    "study": "asked",
    "title": "Asked",
    "factors": {"arm": ["a", "b"]},
    "flow": [
        {"step": "consent", "text": "Yes?"},
        {"step": "survey", "questions": [{"instrument": "sus"}, {"instrument": "s-tias", "required": False}]},
        {
            "each": "turn",
            "take": 2,
            "flow": [{"step": "survey", "id": "load", "questions": [{"instrument": "nasa-tlx"}]}],
        },
        {"step": "finish"},
    ],
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Simulated sessions of a study that asks three instruments, one of them in two turns of a loop."""
    folder = tmp_path_factory.mktemp("asked")
    path = folder / "study.yaml"
    path.write_text(yaml_text(RAW), encoding="utf-8")
    database = open_database(f"sqlite:///{folder / 'parley.db'}")

    async def fill() -> None:
        clock = VirtualClock(START_US)
        runtime, study = SessionService(database, Settings(), clock), load_study(str(path))
        runtime.studies.register(study)
        async for _ in simulate(runtime, clock, study, PEOPLE, "1"):
            pass
        await runtime.close()

    asyncio.run(fill())
    yield database
    database.dispose()


def test_the_export_has_a_row_for_each_score_of_each_screen(asked: Database, tmp_path: Path) -> None:
    export(asked, "asked", NAME, tmp_path)
    with (tmp_path / file_of("scores")).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with (tmp_path / file_of("answers")).open(encoding="utf-8", newline="") as file:
        answers = list(csv.DictReader(file))
    assert {(row["instrument"], row["score"]) for row in rows} == {
        ("sus", "usability"), ("s-tias", "trust"), ("nasa-tlx", "workload"),
    }  # fmt: skip
    for row in rows:
        same = ("session", "path", "seq")
        given = [
            float(one["number"])
            for one in answers
            if [one[key] for key in same] == [row[key] for key in same]
            and one["question"].startswith(f"{row['instrument']}_")
            and one["number"]
        ]
        assert int(row["answered"]) == len(given)
        if len(given) < int(row["items"]):
            assert row["value"] == ""
        elif row["instrument"] == "sus":
            odd, even = given[0::2], given[1::2]
            assert float(row["value"]) == pytest.approx(2.5 * (sum(odd) - 5 + 25 - sum(even)))
        else:
            assert float(row["value"]) == pytest.approx(sum(given) / len(given))
