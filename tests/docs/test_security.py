"""The linter and CI look for what is known to be unsafe."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_ci_looks_for_known_weaknesses() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert "make audit" in workflow
    assert "pip-audit --require-hashes" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\npip-audit==" in (ROOT / "requirements.lock").read_text(encoding="utf-8")
