"""Tasks of a domain of tau2 as problems."""

import json
from pathlib import Path

import pytest

from problems.errors import ProblemError
from problems.tau2 import evaluation_of, load, task_of

EVALUATION = {"actions": [{"action_id": "0", "name": "pay", "arguments": {"sum": "EVALUATED"}}], "reward_basis": ["DB"]}
INSTRUCTIONS = {"domain": "desk", "reason_for_call": "A bill.", "known_info": "No. 7", "task_instructions": "Pay it."}
TASKS = [
    {
        "id": "a",
        "description": {"purpose": "EVALUATED"},
        "user_scenario": {"persona": "Brisk.", "instructions": INSTRUCTIONS},
        "initial_state": None,
        "evaluation_criteria": EVALUATION,
    },
    {"id": "b", "user_scenario": {"instructions": "Pay your bill."}},
]


def written(folder: Path, tasks: object, splits: object = None) -> Path:
    (folder / "tasks.json").write_text(json.dumps(tasks), encoding="utf-8")
    (folder / "policy.md").write_text("Be kind.", encoding="utf-8")
    if splits is not None:
        (folder / "split_tasks.json").write_text(json.dumps(splits), encoding="utf-8")
    return folder


def test_a_card_has_the_scenario_and_nothing_of_the_evaluation(tmp_path: Path) -> None:
    bill, short = load(written(tmp_path, TASKS, {"train": ["a"], "test": ["b"]}))
    assert [part for part in bill.text.split("\n\n") if not part.startswith("**")] == [
        *("A bill.", "No. 7", "Pay it.", "Brisk.")
    ]
    assert (short.plain, short.dataset) == ("Pay your bill.", tmp_path.name)
    assert [dict(one.tags) for one in (bill, short)] == [
        {"policy": "Be kind.", "split_train": "yes"},
        {"policy": "Be kind.", "split_test": "yes"},
    ]
    assert (task_of(bill), evaluation_of(bill)) == (TASKS[0], EVALUATION)
    assert evaluation_of(short) == {}
    assert "EVALUATED" not in f"{bill.text}{bill.plain}{bill.tags}"


BAD = [
    {**TASKS[1], "id": 7},
    {**TASKS[1], "id": "history", "initial_state": {"message_history": [{"role": "user", "content": "Hi"}]}},
    {**TASKS[1], "id": "phone", "evaluation_criteria": {"actions": [{"requestor": "user", "name": "reboot"}]}},
    {"id": "none", "user_scenario": {"instructions": {"known_info": "x"}}},
    {"id": "bare"},
    "no task",
]


def test_all_tasks_that_people_cannot_do_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ProblemError) as raised:
        load(written(tmp_path, [*TASKS, *BAD, TASKS[0]]))
    assert str(tmp_path / "tasks.json") in str(raised.value)
    named = {f"task {number}" for number in range(3, 9)}
    assert {name for name in named if name in str(raised.value)} == named
    assert any("'a'" in fault for fault in raised.value.faults)


@pytest.mark.parametrize(("file", "text"), [("tasks.json", "{"), ("tasks.json", "{}"), ("split_tasks.json", "[]")])
def test_a_file_that_is_none_is_named(tmp_path: Path, file: str, text: str) -> None:
    (written(tmp_path, TASKS) / file).write_text(text, encoding="utf-8")
    with pytest.raises(ProblemError, match=file.replace(".", r"\.")):
        load(tmp_path)


def test_a_folder_that_is_no_domain_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"policy\.md"):
        load(tmp_path)
