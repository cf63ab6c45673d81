"""SECURITY.md promises what tests hold: each item of its table names tests that exist, or says why there are none."""

import re
import tomllib
from pathlib import Path

from docs.asvs import items

ROOT = Path(__file__).parents[2]
NUMBERS = re.compile(r"\d+(\.\d+){1,2}(–\d+(\.\d+){1,2})?(, \d+(\.\d+){1,2}(–\d+(\.\d+){1,2})?)*")
ITEMS = items()
UNSAFE = ("S608", "S506", "S301", "S307", "S602")
"""SQL put together from text, YAML that makes objects, pickles, eval, and shells."""


def test_each_item_is_held_by_a_test_or_is_an_exception_in_words() -> None:
    assert len(ITEMS) >= 50
    for one in ITEMS:
        assert NUMBERS.fullmatch(one["asvs"]), one
        assert bool(one.get("tests")) != bool(one.get("except")), one
        assert len(one.get("except", "x" * 40)) >= 40, "an exception says what to do instead"
    assert len({one["asvs"] for one in ITEMS}) == len(ITEMS)


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
