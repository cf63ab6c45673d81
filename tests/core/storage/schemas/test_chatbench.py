"""ChatBench's rules between rows: what contradicts itself is found, and nothing else."""

from typing import Any

import pytest

from storage.schemas.chatbench import ACROSS, ANSWERS, CONVERSATIONS

ROW: dict[str, Any] = {"worker_id": "w", "phase": 1, "question_id": "q", "selected_answer": "A", "acc": 1}
ROW |= {"model": "m", "condition": None, "subject": "math", "batch": None, "dataset": "d"}
AT = {"batch": 3, "position": 4}


def faults(*rows: dict[str, Any]) -> list[str]:
    rules = [make() for make in ACROSS]
    return [name for row in rows for rule in rules for name, _ in rule(ROW | {"position": 0} | row)]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (({"acc": 1}, {"acc": 1}), []),
        (({"acc": 1}, {"acc": 0}), ["acc"]),
        (({"acc": 1}, {"selected_answer": "B", "acc": 1}), ["acc"]),
        (({"acc": 1}, {"selected_answer": "B", "acc": 0}, {"selected_answer": None, "acc": None}), []),
        (({"acc": 1}, {"question_id": "other", "acc": 0}), []),
        (({"position": 3}, {"phase": 2, "position": 1}), ["phase"]),
        (({"position": 3}, {"phase": 2, "position": 1, "worker_id": "another"}), []),
        ((AT, AT), []),
        ((AT, AT | {"position": 99}), ["position"]),
        ((AT, AT | {"question_id": "other"}), ["position"]),
        ((AT, AT | {"question_id": "other", "dataset": "attention_check"}), []),
        ((AT, AT | {"worker_id": "another", "position": 5}), []),
        ((AT, AT | {"worker_id": "another", "batch": 25}), ["batch"]),
        ((AT, AT | {"subject": "moral", "batch": 5}), []),
        (({"phase": None, "position": 3}, {"phase": 2, "position": 1}), []),
    ],
)
def test_rows_that_contradict_each_other_are_found(rows: tuple[dict[str, Any], ...], found: list[str]) -> None:
    assert faults(*rows) == found


def test_messages_have_the_speakers_of_the_release() -> None:
    (rule,) = CONVERSATIONS.rules
    for role, found in (("You", []), ("Bot", []), ("user", ["chat_history"])):
        assert [name for name, _ in rule({"chat_history": f'[{{"role":"{role}","content":"x"}}]'})] == found
    assert ANSWERS.rules_across == ACROSS
