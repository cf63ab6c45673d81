"""The linter and CI look for what is known to be unsafe."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
# SQL put together from text, YAML that makes objects, pickles, eval, and shells.
UNSAFE = ("S608", "S506", "S301", "S307", "S602")


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
