"""Rewards of conversations about tasks, from their events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.events import Event
from experiments.views.rewards import ACTION, COMMUNICATE, DB, database_after, reward
from problems.bicycle_shop import BicycleShop
from problems.registry import place
from problems.tau2 import evaluation_of, load

FIND = ("find_customer", {"email": "mara.lindt@example.org"})
CANCEL = ("cancel_order", {"order": "1042"})
OTHER = ("cancel_order", {"order": "1044"})
WANTED = {
    "actions": [{"name": name, "arguments": arguments} for name, arguments in (FIND, CANCEL)],
    "communicate_info": ["1088", "a card"],
}
SAID = "You get 1,088 back on A CARD."


def log(*calls: tuple[str, dict[str, str]], text: str = SAID, end: str = "returned", **ended: Any) -> list[Event]:
    asked = [{"id": str(n), "tool": name, "arguments": json.dumps(given)} for n, (name, given) in enumerate(calls)]
    events: list[tuple[str, dict[str, Any]]] = [("said", {"text": "Hi"}), ("called", {"calls": asked})]
    events += [(end, {"round": 2, "call": one["id"], "text": "{}", **ended}) for one in asked]
    events.append(("replied", {"text": text}))
    return [Event(n, n, "model", "chat", kind, data) for n, (kind, data) in enumerate(events, 1)]


CASES = {
    "all": (log(FIND, CANCEL), WANTED, {DB: 1, COMMUNICATE: 1}),
    "by another way": (log(CANCEL), WANTED, {DB: 1, COMMUNICATE: 1}),
    "too little": (log(FIND), WANTED, {DB: 0, COMMUNICATE: 1}),
    "too much": (log(CANCEL, OTHER), WANTED, {DB: 0, COMMUNICATE: 1}),
    "nothing said": (log(CANCEL, text="Done."), WANTED, {DB: 1, COMMUNICATE: 0}),
    "refused": (log(CANCEL, end="denied"), WANTED, {DB: 0, COMMUNICATE: 1}),
    "never made": (log(CANCEL, failed="invalid"), WANTED, {DB: 0, COMMUNICATE: 1}),
    "impossible": (log(CANCEL, ("cancel_order", {"order": "?"}), ("fly", {})), WANTED, {DB: 1, COMMUNICATE: 1}),
    "actions": (log(CANCEL), {**WANTED, "reward_basis": [ACTION]}, {ACTION: 0}),
    "all actions": (log(FIND, CANCEL), {**WANTED, "reward_basis": [ACTION]}, {ACTION: 1}),
    "some arguments": (
        log(OTHER),
        {
            "actions": [{"name": "cancel_order", "arguments": {"order": "1"}, "compare_args": []}],
            "reward_basis": [ACTION],
        },
        {ACTION: 1},
    ),
    "nothing expected": (log(CANCEL), {"communicate_info": ["x"], "reward_basis": [DB]}, {DB: 1}),
    "no change expected": (log(CANCEL), {"actions": [], "reward_basis": [DB]}, {DB: 0}),
    "of a judge": (log(CANCEL), {**WANTED, "reward_basis": [DB, "NL_ASSERTION"]}, {DB: 1, "NL_ASSERTION": None}),
}


@pytest.mark.parametrize("name", CASES)
def test_parts_are_those_of_the_basis(name: str) -> None:
    events, evaluation, parts = CASES[name]
    found = reward(evaluation, events, BicycleShop)
    assert found.parts == parts
    assert found.reward == (None if None in parts.values() else min(parts.values()))
    assert reward(evaluation, events, BicycleShop, ended=False).reward == 0


def test_a_database_that_is_not_known_here_leaves_the_reward_open() -> None:
    found = reward(WANTED, log(CANCEL), None)
    assert (found.parts, found.reward) == ({DB: None, COMMUNICATE: 1}, None)


def test_the_expected_calls_of_the_sample_are_possible_and_only_some_write() -> None:
    before, changed = BicycleShop().database, set()
    for problem in load(place("tau2", "sample", Path())):
        shop = BicycleShop()
        for action in evaluation_of(problem)["actions"]:
            was = json.dumps(shop.database)
            shop.tools[action["name"]](**action["arguments"])
            changed |= {action["name"]} if json.dumps(shop.database) != was else set()
        calls = [(action["name"], action["arguments"]) for action in evaluation_of(problem)["actions"]]
        assert database_after(BicycleShop, calls) == shop.database
        assert (shop.database == before) == (problem.id == "late-return")
    assert changed == {"cancel_order", "return_item", "exchange_item", "book_repair"}
