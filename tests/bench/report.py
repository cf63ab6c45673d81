"""What benches have found, in docs/benchmarks.md: each writes between two marks of its own, the rest stays as it is."""

from __future__ import annotations

import os
import platform
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.table import Table

DOCS = Path(__file__).parents[2] / "docs" / "benchmarks.md"
MARK = "<!-- {name}: written by its bench with --docs -->"
END = "<!-- end of {name} -->"


def add_docs(parser: ArgumentParser) -> None:
    parser.add_argument("--docs", action="store_true", help="write the bench's part of docs/benchmarks.md")


def write(name: str, text: str, docs: Path = DOCS) -> None:
    """Put a text between the marks of a bench, in place of what is there."""
    mark, end = MARK.format(name=name), END.format(name=name)
    before, found, rest = docs.read_text(encoding="utf-8").partition(mark)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"{docs} has no place for {name}: put the lines {mark} and {end} where it belongs")
    docs.write_text(f"{before}{mark}\n\n{text.strip()}\n\n{end}{after}", encoding="utf-8")


def drawn(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ("---",) * len(header), *rows))


def drawn_as(table: Table) -> str:
    columns = table.columns
    return drawn([str(one.header) for one in columns], zip(*(map(str, one.cells) for one in columns), strict=True))


def measured_on(python: str = "") -> str:
    """Where this is measured, and with which Python if that is another than this one."""
    python = python or platform.python_version()
    return f"{os.cpu_count()} cores, Python {python}, {platform.system()} {platform.machine()}"
