"""Models asked alone from the command line, offline: asked once, read again, told, exported beside people's answers."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from app.studies.loader import STUDIES, read_yaml
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


def test_more_repeats_ask_for_what_is_missing_and_another_temperature_for_all(tmp_path: Path) -> None:
    alone(tmp_path, "run", *FEW, "--method", "letter_only_zero_shot")
    more = alone(tmp_path, "run", *FEW, "--method", "letter_only_zero_shot", "--repeats", "5")
    assert "15 replies" in more.stdout
    raw = read_yaml(STUDIES / "chatbench.yaml")
    raw["ai_alone"]["temperature"] = 0.1
    file = tmp_path / "cooler.yaml"
    file.write_text(yaml_text(raw), encoding="utf-8")
    cooler = alone(tmp_path, "run", *FEW, "--method", "letter_only_zero_shot", study=str(file))
    assert "10 replies" in cooler.stdout


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


def test_data_of_models_alone_say_that_no_person_took_part(tmp_path: Path) -> None:
    alone(tmp_path, "run", *FEW, "--method", "letter_only_zero_shot")
    guards = read(tmp_path, "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'attempt'")
    with closing(sqlite3.connect(tmp_path / "parley.db")) as connection, connection:
        for (guard,) in guards:
            connection.execute(f"DROP TRIGGER {guard}")  # else nothing changes what a model replied
        connection.execute("UPDATE attempt SET text = 'As an AI model I cannot choose.' WHERE sample = 1")
    scored = alone(tmp_path, "score")
    assert "5 answers of tutor-a by letter_only_zero_shot" in scored.stdout
    out = tmp_path / "out"
    done = parley("export", "chatbench", "--schema", "chatbench", "-o", str(out), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (out / "study.json").is_file()
    described = json.loads((out / "metadata.json").read_text())
    assert described["additionalProperty"][0]["value"] == "models"
    assert "people who took part" not in (out / "README.md").read_text()
    (use,) = described["rai:machineAnnotationTools"]
    assert "10 answered" in use
    assert "5 read by the first character" in use
    report = parley("report", "chatbench", "--format", "json", "-o", str(tmp_path / "r.json"), folder=tmp_path)
    assert report.returncode == 0, report.stderr
    assert json.loads((tmp_path / "r.json").read_text())["figures"]


def test_what_cannot_be_done_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    for words, told in (
        (("run", "--method", "free_txt"), "'free_text'"),
        (("run", "--model", "tutor-c"), "'tutor-c'"),
        (("run", "--dataset", "sums"), "'sums'"),
        (("run", "--extractor", "tutr-a"), "'tutor-a'"),
        (("status",), "'chatbench'"),
        (("score",), "'chatbench'"),
    ):
        done = alone(tmp_path, *words)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr
        assert read(tmp_path, "SELECT * FROM attempt") == []


def test_advice_of_two_questions_with_one_id_is_refused(tmp_path: Path) -> None:
    """By id, a recommendation could stand beside the other question: here of an earlier version of the study."""
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
