"""The table of promises: every goal of its three parts is in it, once, and each names tests and benches that exist."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs.goals import PARTS, goals

ROOT = Path(__file__).parents[2]
COUNT = {"r": 23, "s": 22, "u": 9}
KEYS = {"goal", "promise", "tests", "long", "bench", "other"}
GOALS = [one for part in PARTS for one in goals(part)]
TESTS = sorted({test for one in GOALS for test in one["tests"]})
BENCHES = sorted({name.strip() for one in GOALS for name in one.get("bench", "").split(",") if name})


@pytest.mark.parametrize("part", PARTS)
def test_every_goal_is_there_once_and_in_order(part: str) -> None:
    assert [one["goal"] for one in goals(part)] == [f"{part.upper()}{n + 1}" for n in range(COUNT[part])]


def test_each_goal_has_a_promise_and_tests_or_says_why_there_is_none() -> None:
    for one in GOALS:
        assert set(one) <= KEYS, one
        assert len(one["promise"]) > 40, one
        assert one["tests"] or ("bench" in one and len(one["other"]) > 40), one


@pytest.mark.parametrize("test", TESTS)
def test_a_test_that_is_named_exists(test: str) -> None:
    path, _, name = test.partition("::")
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, named)} or f"{name} = " in ast.unparse(
        tree
    )


@pytest.mark.parametrize("bench", BENCHES)
def test_a_bench_that_is_named_exists(bench: str) -> None:
    assert find_spec(bench) is not None
