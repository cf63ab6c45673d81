"""The page of promises, each with the tests that check it.

They are in docs/goals/*.yaml, each with its number, `promise` and `tests` (none if only a benchmark can check it);
`long` is what `make soak` adds, `bench` the benchmark that measures a time, `other` what is not tested, and why.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.studies.yaml_loader import parse_yaml
from docs.tables import table, tests

FOLDER = Path(__file__).with_name("goals")
PARTS = {"r": "Reliability", "s": "Security", "u": "People at the screens"}
"""The files, in order, with their headings."""
BEFORE = """The tests run in `make test`; *Soak* is what `make soak` adds. Times are measured by benchmarks and not by
tests: `make bench`, or `python -m` with the named module.
"""


def goals(part: str) -> list[dict[str, Any]]:
    """The goals of a part, in order."""
    found: list[dict[str, Any]] = parse_yaml((FOLDER / f"{part}.yaml").read_text(encoding="utf-8")).value
    return found


def promises() -> str:
    """The tables, one a part."""
    return BEFORE + "".join(f"\n## {title}\n\n{_table(part)}" for part, title in PARTS.items())


def _table(part: str) -> str:
    rows = ((one["goal"], one["promise"], tests(one["tests"]), "<br>".join(_notes(one))) for one in goals(part))
    return table(("", "Parley promises", "tests", "notes"), rows)


def _notes(one: dict[str, Any]) -> Iterator[str]:
    if "long" in one:
        yield f"*Soak:* {one['long']}."
    if "bench" in one:
        yield f"*Bench:* {', '.join(f'`{name.strip()}`' for name in one['bench'].split(','))}."
    if "other" in one:
        yield one["other"]
