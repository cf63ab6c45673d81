"""`parley evals`: the scores of a simulated study, against its tidy export."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

from tests.fakes.commanding import parley


def test_scores_are_the_answers_of_people_as_epochs_of_a_problem(tmp_path: Path) -> None:
    for words in (
        ("simulate", "chatbench", "-n", "3", "--seed", "1"),
        ("export", "chatbench", "--schema", "tidy", "-o", "tidy", "--origin", "bot"),
        ("evals", "chatbench", "-o", "scores"),
    ):
        done = parley(*words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    scores = [json.loads(line) for line in (tmp_path / "scores" / "answer.jsonl").read_text("utf-8").splitlines()]
    with next((tmp_path / "tidy").rglob("*answers_data.csv")).open(encoding="utf-8", newline="") as file:
        answers = [row for row in csv.DictReader(file) if row["question"] == "answer" and row["problem"]]
    last = {(row["session"], row["problem"]): (row["value"], row["correct"]) for row in answers}
    wanted = {key: (value, {"1": "C", "0": "I"}[correct]) for key, (value, correct) in last.items()}
    found = {(one["metadata"]["session"], one["id"]): (one["answer"], one["value"]) for one in scores}
    assert found == wanted
    people = Counter(one["id"] for one in scores)
    assert {(one["id"], one["epoch"]) for one in scores} == {
        (name, epoch) for name, number in people.items() for epoch in range(1, number + 1)
    }


def test_a_log_without_inspect_says_how_to_install_it(tmp_path: Path) -> None:
    assert parley("simulate", "chatbench", "-n", "1", folder=tmp_path).returncode == 0
    done = parley("evals", "chatbench", "-o", "scores", "--log", "people.eval", folder=tmp_path)
    assert done.returncode == 2
    assert "parley-studies[inspect]" in done.stderr
