"""`parley evals inspect`: the scores of a simulated study, against its tidy export."""

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
        ("evals", "inspect", "chatbench", "-o", "scores"),
    ):
        done = parley(*words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    scores = [json.loads(line) for line in (tmp_path / "scores" / "answer.jsonl").read_text("utf-8").splitlines()]
    with (tmp_path / "tidy" / "answers.csv").open(encoding="utf-8", newline="") as file:
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
    done = parley("evals", "inspect", "chatbench", "-o", "scores", "--log", "people.eval", folder=tmp_path)
    assert done.returncode == 2
    assert "parley-studies[inspect]" in done.stderr


def test_results_of_tau2_have_each_conversation_with_its_calls_and_reward(tmp_path: Path) -> None:
    for words in (
        ("simulate", "service-desk", "-n", "4", "--seed", "6"),
        ("export", "service-desk", "--schema", "tidy", "-o", "tidy", "--origin", "bot"),
        ("evals", "tau2", "service-desk", "-o", "results"),
    ):
        done = parley(*words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    results = [json.loads(file.read_text("utf-8")) for file in (tmp_path / "results").iterdir()]
    simulations = [one for file in results for one in file["simulations"]]
    with (tmp_path / "tidy" / "rewards.csv").open(encoding="utf-8", newline="") as file:
        rewards = {(row["session"], row["path"]): float(row["reward"]) for row in csv.DictReader(file)}
    assert {(o["info"]["session"], o["info"]["path"]): o["reward_info"]["reward"] for o in simulations} == rewards
    assert {0.0, 1.0} == {*rewards.values()}
    assert {one["termination_reason"] for one in simulations} == {"user_stop"}
    for found in results:
        trials = Counter(one["task_id"] for one in found["simulations"])
        assert {(o["task_id"], o["trial"]) for o in found["simulations"]} == {
            (name, trial) for name, number in trials.items() for trial in range(number)
        }
        assert {task["id"] for task in found["tasks"]} == {*trials}
    refused = 0
    for simulation in simulations:
        left = iter(simulation["messages"])
        for message in left:
            calls = message.get("tool_calls") or ()
            assert message["role"] != "tool"
            assert [next(left)["id"] for _ in calls] == [call["id"] for call in calls]
            refused += len(message.get("raw_data", {}).get("not_made", ()))
    assert refused


def test_a_study_without_tasks_has_no_results(tmp_path: Path) -> None:
    assert parley("simulate", "chatbench", "-n", "1", folder=tmp_path).returncode == 0
    assert parley("evals", "tau2", "chatbench", "-o", "results", folder=tmp_path).returncode == 2
    assert not (tmp_path / "results").exists()
