"""Models asked alone from the command line, offline: asked once, read again, told, exported beside people's answers."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from storage.yaml_text import yaml_text
from tests.fakes.commanding import Done, parley

FEW = ("--repeats", "2", "--max-problems", "1", "--model", "tutor-a")


def alone(folder: Path, *words: str, study: str = "chatbench") -> Done:
    return parley("ai-alone", words[0], study, *words[1:], folder=folder)


def read(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "parley.db")) as connection:
        return connection.execute(query).fetchall()


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_asks_reads_and_tells_and_the_same_command_asks_nothing(tmp_path: Path) -> None:
    dry = alone(tmp_path, "run", *FEW, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert read(tmp_path, "SELECT * FROM attempt") == read(tmp_path, "SELECT * FROM study") == []
    done = alone(tmp_path, "run", *FEW)
    assert done.returncode == 0, done.stderr
    tables = "attempt", "ai_answer", "ai_alone_answers"
    before = [sorted(read(tmp_path, f"SELECT * FROM {name}")) for name in tables]
    assert len(before[0]) == 5 * 2 * (1 + 1 + 2)
    assert read(tmp_path, "SELECT outcome, count(*) FROM ai_answer GROUP BY outcome") == [("answered", 30)]
    with closing(sqlite3.connect(tmp_path / "parley.db")) as connection, connection:
        connection.execute("DELETE FROM ai_answer")
        connection.execute("DELETE FROM ai_alone_answers")
    assert alone(tmp_path, "score").returncode == 0, "which asks no model"
    again = alone(tmp_path, "run", *FEW)
    assert (again.returncode, "0 replies" in again.stdout) == (0, True)
    assert [sorted(read(tmp_path, f"SELECT * FROM {name}")) for name in tables] == before
    found = json.loads(alone(tmp_path, "status", "--json").stdout)
    assert len(found) == 3 * 5
    assert {(one["model"], one["wanted"], sum(one["outcomes"].values())) for one in found} == {("tutor-a", 2, 2)}


def test_the_file_stands_beside_people_s_answers_and_validates(tmp_path: Path) -> None:
    parley("simulate", "chatbench", "-n", "1", folder=tmp_path)
    alone(tmp_path, "run", "--repeats", "1", "--max-problems", "2")
    out = tmp_path / "out"
    done = parley("export", "chatbench", "--schema", "chatbench", "-o", str(out), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert parley("import", "chatbench", "--check", str(out), folder=tmp_path).returncode == 0
    found = rows(out / "ai_alone_answers.csv")
    assert len(found) == 2 * 5 * 2
    assert {row["question_id"] for row in found} <= {row["question_id"] for row in rows(out / "questions.csv")}
    answers = rows(out / "full_study" / "user_answers.csv")
    assert answers
    assert {row["model"] for row in answers} <= {row["model"] for row in found} == {"tutor-a", "tutor-b"}
    assert all(row[f"{name}_count"] == "1" for row in found for name in ("letter_only_few_shot", "free_text"))
    parley("db", "rebuild", folder=tmp_path)
    assert parley("db", "verify", folder=tmp_path).returncode == 0
    parley("export", "chatbench", "--schema", "chatbench", "-o", str(tmp_path / "again"), folder=tmp_path)
    assert rows(tmp_path / "again" / "ai_alone_answers.csv") == found


def test_advice_of_two_questions_with_one_id_is_refused(tmp_path: Path) -> None:
    asked = ("run", "--repeats", "1", "--method", "letter_only_zero_shot")
    for dataset in ("sums", "roots"):
        item = {
            "id": "q1",
            "question": f"How many {dataset}?",
            "options": ["2", "3"],
            "answer": "A",
            "dataset": dataset,
        }
        raw = {
            "study": "twins",
            "title": "Twins",
            "models": {"tutor": {"backend": "scripted"}},
            "problems": {"questions": {"items": [item]}},
            "flow": [{"each": "question", "of": "questions", "flow": [{"step": "answer"}]}, {"step": "finish"}],
        }
        file = tmp_path / "twins.yaml"
        file.write_text(yaml_text(raw), encoding="utf-8")
        done = alone(tmp_path, *asked, study=str(file))
        assert done.returncode == 0, done.stderr
    words = ("advice", "twins", "--model", "tutor", "--method", "letter_only_zero_shot", "-o", "advice.csv")
    refused = parley("ai-alone", *words, folder=tmp_path)
    assert (refused.returncode, "'q1'" in refused.stderr) == (2, True), refused.stderr
    assert not (tmp_path / "advice.csv").exists()
