"""SECURITY.md with its table: what of OWASP ASVS applies to Parley, and by which tests each item is held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.studies.yaml_loader import marked
from docs.tables import table, tests

ROOT = Path(__file__).parents[1]
FILE = "SECURITY.md"
BEGIN = "<!-- The table is made by `python -m docs.generate` from docs/asvs.yaml: do not edit it here. -->\n\n"
END = "\n<!-- The end of the table. -->"


def items() -> list[dict[str, Any]]:
    """What applies: each `item` with its number, and its `tests` or what is said in place of any."""
    found: list[dict[str, Any]] = marked((ROOT / "docs" / "asvs.yaml").read_text(encoding="utf-8")).value
    return found


def security() -> str:
    """The whole of SECURITY.md, its table made anew."""
    before, _, rest = (ROOT / FILE).read_text(encoding="utf-8").partition(BEGIN)
    rows = ((one["asvs"], one["item"], _held(one)) for one in items())
    return before + BEGIN + table(("ASVS 5.0", "what holds", "by"), rows) + END + rest.partition(END)[2]


def _held(one: dict[str, Any]) -> str:
    if "except" in one:
        return f"**Exception.** {one['except']}"
    return tests(one["tests"])
