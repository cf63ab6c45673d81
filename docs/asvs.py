"""SECURITY.md with its table: the items of OWASP ASVS that apply to Parley, each with the tests that check it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.studies.yaml_loader import parse_yaml
from docs.tables import table, tests

ROOT = Path(__file__).parents[1]
FILE = "SECURITY.md"
BEGIN = "<!-- The table is made by `python -m docs.generate` from docs/asvs.yaml: do not edit it here. -->\n\n"
END = "\n<!-- The end of the table. -->"


def items() -> list[dict[str, Any]]:
    """The items that apply: each `item` with its number, and its `tests` or the reason for an exception."""
    found: list[dict[str, Any]] = parse_yaml((ROOT / "docs" / "asvs.yaml").read_text(encoding="utf-8")).value
    return found


def security() -> str:
    """SECURITY.md with a new table."""
    before, _, rest = (ROOT / FILE).read_text(encoding="utf-8").partition(BEGIN)
    rows = ((one["asvs"], one["item"], _held(one)) for one in items())
    return before + BEGIN + table(("ASVS 5.0", "requirement", "tests"), rows) + END + rest.partition(END)[2]


def _held(one: dict[str, Any]) -> str:
    if "except" in one:
        return f"**Exception.** {one['except']}"
    return tests(one["tests"])
