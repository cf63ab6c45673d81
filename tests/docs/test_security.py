"""SECURITY.md promises what tests hold: each item of its table names tests that exist, or says why there are none."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from docs.asvs import items, security

ROOT = Path(__file__).parents[2]
NUMBERS = re.compile(r"\d+(\.\d+){1,2}(–\d+(\.\d+){1,2})?(, \d+(\.\d+){1,2}(–\d+(\.\d+){1,2})?)*")
ITEMS = items()
TESTS = sorted({test for one in ITEMS for test in one.get("tests", ())})
UNSAFE = ("S608", "S506", "S301", "S307", "S602")
"""SQL put together from text, YAML that makes objects, pickles, eval, and shells."""


@pytest.mark.parametrize("test", TESTS)
def test_a_test_that_is_promised_exists(test: str) -> None:
    path, _, name = test.partition("::")
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_each_item_is_held_by_a_test_or_is_an_exception_in_words() -> None:
    assert len(ITEMS) >= 50
    for one in ITEMS:
        assert NUMBERS.fullmatch(one["asvs"]), one
        assert bool(one.get("tests")) != bool(one.get("except")), one
        assert len(one.get("except", "x" * 40)) >= 40, "an exception says what to do instead"
    assert len({one["asvs"] for one in ITEMS}) == len(ITEMS)


def test_the_table_has_every_item() -> None:
    text = security()
    assert text == (ROOT / "SECURITY.md").read_text(encoding="utf-8"), "python -m docs.generate"
    for one in ITEMS:
        assert f"| {one['asvs']} | {one['item']} |" in text


def test_the_linter_looks_for_what_is_unsafe() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    assert "S" in lint["select"]
    ours = [*lint.get("ignore", ()), *(rule for path, rules in lint["per-file-ignores"].items() for rule in rules
            if not path.startswith(("tests", "docs")))]  # fmt: skip
    assert not [rule for rule in UNSAFE if any(rule.startswith(left_out) for left_out in ours)]
    excused = [
        path.name
        for path in (ROOT / "app").rglob("*.py")
        if re.search("noqa: S(608|506|301|307|602)", path.read_text())
    ]
    assert excused == []


def test_ci_looks_for_known_weaknesses() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert "make audit" in workflow
    assert "pip-audit --require-hashes" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\npip-audit==" in (ROOT / "requirements.lock").read_text(encoding="utf-8")
