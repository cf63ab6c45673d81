"""What Parley promises, in tables: each promise with the tests that hold it, and in words what is held otherwise.

They are in docs/goals/*.yaml, each with its number, `promise` and `tests` (none where only a bench can tell); `long`
says what `make soak` adds, `bench` which bench measures a time, `other` what is left out or held in another way, and
why.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.studies.yaml_loader import marked
from docs.tables import table, tests

FOLDER = Path(__file__).with_name("goals")
PARTS = {"r": "Reliability", "s": "Security", "u": "People at the screens"}
"""The files, in order, with their headings."""
BEFORE = """The tests run in `make test`; where the table says *soak*, `make soak` does more of the same. Times are
measured by benches and not by tests: `make bench`, or the module that is named, by `python -m`.
"""


def goals(part: str) -> list[dict[str, Any]]:
    """The goals of a part, in order."""
    found: list[dict[str, Any]] = marked((FOLDER / f"{part}.yaml").read_text(encoding="utf-8")).value
    return found


def promises() -> str:
    """The tables, one a part."""
    return BEFORE + "".join(f"\n## {title}\n\n{_table(part)}" for part, title in PARTS.items())


def _table(part: str) -> str:
    rows = ((one["goal"], one["promise"], tests(one["tests"]), "<br>".join(_notes(one))) for one in goals(part))
    return table(("", "Parley promises", "held by", "besides"), rows)


def _notes(one: dict[str, Any]) -> Iterator[str]:
    if "long" in one:
        yield f"*Soak:* {one['long']}."
    if "bench" in one:
        yield f"*Bench:* {', '.join(f'`{name.strip()}`' for name in one['bench'].split(','))}."
    if "other" in one:
        yield f"*Otherwise:* {one['other']}"
