"""Models asked alone from the command line, offline: asked once, read again, told, exported beside people's answers."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from app.library import STUDIES, read_yaml
from storage.yaml_text import yaml_text
from tests.conftest import ROOT
from tests.fakes.commanding import Done, parley
from tests.fakes.forked import Forked, command

FEW = ("--repeats", "2", "--problems", "1", "--model", "tutor-a")
HEAVY = ("gradio", "pandas", "numpy", "uvicorn", "fastapi", "jinja2", "zxcvbn", "argon2")


def alone(folder: Path, *words: str, study: str = "chatbench") -> Done:
    return parley("alone", words[0], study, *words[1:], folder=folder)


def read(folder: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(folder / "parley.db")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_asks_reads_and_tells_and_the_same_command_asks_nothing(tmp_path: Path) -> None:
    done = alone(tmp_path, "run", *FEW)
    assert done.returncode == 0, done.stderr
    assert "40 replies" in done.stdout
    assert "Everything is asked." in done.stdout
    before = read(tmp_path, "SELECT * FROM attempt ORDER BY cell, sample, step")
    assert len(before) == 5 * 2 * (1 + 1 + 2)
    assert read(tmp_path, "SELECT outcome, count(*) FROM ai_answer GROUP BY outcome") == [("answered", 30)]
    again = alone(tmp_path, "run", *FEW)
    assert again.returncode == 0
    assert "0 replies" in again.stdout
    assert "30 samples were there" in again.stdout
    assert read(tmp_path, "SELECT * FROM attempt ORDER BY cell, sample, step") == before


def test_more_repeats_ask_for_what_is_missing_and_another_temperature_for_all(tmp_path: Path) -> None:
    alone(tmp_path, "run", *FEW, "--method", "letter_only_zero_shot")
    more = alone(tmp_path, "run", *FEW, "--method", "letter_only_zero_shot", "--repeats", "5")
    assert "15 replies" in more.stdout
    raw = read_yaml(STUDIES / "chatbench.yaml")
    raw["alone"]["temperature"] = 0.1
    file = tmp_path / "cooler.yaml"
    file.write_text(yaml_text(raw), encoding="utf-8")
    cooler = alone(tmp_path, "run", *FEW, "--method", "letter_only_zero_shot", study=str(file))
    assert "10 replies" in cooler.stdout


def test_reading_again_needs_no_model_and_gives_the_same(tmp_path: Path) -> None:
    alone(tmp_path, "run", *FEW)
    tables = "attempt", "ai_answer", "ai_alone_answers"
    before = [read(tmp_path, f"SELECT * FROM {name}") for name in tables]
    with sqlite3.connect(tmp_path / "parley.db") as connection:
        connection.execute("DELETE FROM ai_answer")
        connection.execute("DELETE FROM ai_alone_answers")
    connection.close()
    done = alone(tmp_path, "score")
    assert "30 samples of chatbench are read again." in done.stdout
    assert [sorted(read(tmp_path, f"SELECT * FROM {name}")) for name in tables] == [sorted(one) for one in before]


def test_the_status_is_told_by_model_method_and_dataset(tmp_path: Path) -> None:
    alone(tmp_path, "run", *FEW, "--method", "free_text,zero_shot_cot", "--method", "free_text_no_options")
    told = alone(tmp_path, "status").stdout
    for words in (
        "tutor-a ",
        " free_text ",
        " zero_shot_cot ",
        " free_text_no_options ",
        "  moral_scenarios ",
        "2 of 2",
    ):
        assert words in told
    found = json.loads(alone(tmp_path, "status", "--json").stdout)
    assert len(found) == 3 * 5
    assert {(one["model"], one["wanted"], sum(one["outcomes"].values())) for one in found} == {("tutor-a", 2, 2)}


@pytest.mark.parametrize("people", [False, True])
def test_the_file_stands_beside_people_s_answers_and_validates(people: bool, tmp_path: Path) -> None:
    if people:
        parley("simulate", "chatbench", "-n", "2", folder=tmp_path)
    alone(tmp_path, "run", "--repeats", "1")
    out = tmp_path / "out"
    done = parley("export", "chatbench", "--schema", "chatbench", "-o", str(out), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert parley("validate", "chatbench", str(out), folder=tmp_path).returncode == 0
    found = rows(out / "ai_alone_answers.csv")
    assert len(found) == 2 * 60
    assert {row["question_id"] for row in found} == {row["question_id"] for row in rows(out / "questions.csv")}
    answers = rows(out / "full_study" / "user_answers.csv")
    assert {row["model"] for row in answers} <= {row["model"] for row in found} == {"tutor-a", "tutor-b"}
    assert bool(answers) is people
    assert all(row[f"{name}_count"] == "1" for row in found for name in ("letter_only_few_shot", "free_text"))
    assert "The released tables are what the log implies." in parley("db", "verify", folder=tmp_path).stdout
    parley("db", "rebuild", folder=tmp_path)
    assert "The released tables are what the log implies." in parley("db", "verify", folder=tmp_path).stdout
    parley("export", "chatbench", "--schema", "chatbench", "-o", str(tmp_path / "again"), folder=tmp_path)
    assert rows(tmp_path / "again" / "ai_alone_answers.csv") == found


def test_a_dry_run_asks_nothing_and_says_what_it_would_take(tmp_path: Path) -> None:
    done = alone(tmp_path, "run", *FEW, "--dry-run")
    assert "30 samples: at most 40 calls, with replies of 300 tokens. Nothing was asked." in done.stdout
    assert read(tmp_path, "SELECT * FROM attempt") == read(tmp_path, "SELECT * FROM study") == []
    alone(tmp_path, "run", *FEW)
    assert "30 samples, of which 30 are there: at most 0 calls" in alone(tmp_path, "run", *FEW, "--dry-run").stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "--method", "free_txt"), "Did you mean 'free_text'?"),
        (("run", "--model", "tutor-c"), "'tutor-c' is no model of the study"),
        (("run", "--dataset", "sums"), "no question of the dataset 'sums'"),
        (("run", "--extractor", "tutr-a"), "Did you mean 'tutor-a'?"),
        (("status",), "No study called 'chatbench' is in this database"),
        (("score",), "No study called 'chatbench' is in this database"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_asked(
    words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    done = alone(tmp_path, *words)
    assert done.returncode == 2
    assert told in done.stderr
    assert read(tmp_path, "SELECT * FROM attempt") == []


def test_a_study_whose_models_were_asked_nothing_says_how_to_ask(tmp_path: Path) -> None:
    parley("simulate", "chatbench", "-n", "1", folder=tmp_path)
    assert "parley alone run chatbench" in alone(tmp_path, "status").stderr


def test_every_method_is_listed_with_its_source(tmp_path: Path) -> None:
    told = " ".join(parley("alone", "methods", folder=tmp_path).stdout.split())
    for words in ("letter_only_few_shot", "zero_shot_cot_direct", "ChatBench's `copy_and_paste`", "Kojima"):
        assert words in told


def test_the_command_carries_nothing_that_only_others_need(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv[1:] = ['alone', 'run', 'chatbench', '--repeats', '1', '--problems', '1']\n"
        "from app.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    env = {"PYTHONPATH": str(ROOT), "PARLEY_DATABASE_URL": f"sqlite:///{tmp_path}/parley.db"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_what_a_killed_run_had_stored_is_not_asked_again(tmp_path: Path) -> None:
    words = ["alone", "run", "chatbench", "--repeats", "10", "--problems", "2"]
    env = {"PARLEY_DATABASE_URL": f"sqlite:///{tmp_path}/parley.db"}
    killed = Forked(command, *words, folder=tmp_path, out=tmp_path / "said.txt", env=env)
    while killed.alive and not _replies(tmp_path):
        time.sleep(0.02)
    killed.kill()
    query = "SELECT * FROM attempt ORDER BY cell, sample, step"
    before = read(tmp_path, query)
    wanted = 2 * 5 * 2 * 10 * (1 + 1 + 2)
    assert 0 < len(before) < wanted
    done = alone(tmp_path, *words[1:2], *words[3:])
    assert done.returncode == 0, done.stderr
    assert f"{wanted - len(before):,} replies" in done.stdout
    after = read(tmp_path, query)
    assert len(after) == wanted
    assert set(before) <= set(after)
    assert read(tmp_path, "SELECT count(*) FROM ai_answer") == [(2 * 5 * 2 * 10 * 3,)]


def _replies(folder: Path) -> int:
    """How many replies are stored so far."""
    with suppress(sqlite3.OperationalError):  # there is no such table yet
        return int(read(folder, "SELECT count(*) FROM attempt")[0][0])
    return 0
