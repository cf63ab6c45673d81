"""The parts of ChatBench's release: a study is exported as one of them."""

from __future__ import annotations

from pathlib import Path

from storage.datasets.imports.importer import deviations
from storage.datasets.imports.records import CellDeviation
from tests.fakes.release import FIRST, FULL, release

__all__ = ["release"]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


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
