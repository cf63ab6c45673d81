"""What benches write into the docs."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.table import Table

from tests.bench import report

NAMES = ("exports", "load", "page", "growth")


def marked(name: str, text: str) -> str:
    return f"{report.MARK.format(name=name)}\n\n{text}\n\n{report.END.format(name=name)}\n"


def test_a_bench_writes_between_its_marks_and_leaves_the_rest(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n" + marked("load", "old") + "words\n" + marked("page", "kept"), encoding="utf-8")
    report.write("load", "new\n", page)
    assert page.read_text(encoding="utf-8") == "# One\n" + marked("load", "new") + "words\n" + marked("page", "kept")


def test_a_bench_without_a_place_says_so(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no place for load"):
        report.write("load", "new", page)


def test_a_table_is_drawn_in_markdown() -> None:
    table = Table("what", "ms")
    table.add_row("click", "1 / 2")
    assert report.drawn_as(table) == "| what | ms |\n| --- | --- |\n| click | 1 / 2 |"


@pytest.mark.parametrize("name", NAMES)
def test_the_docs_have_a_place_for_each_bench(name: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(report.DOCS.read_text(encoding="utf-8"), encoding="utf-8")
    report.write(name, "as measured now", page)
    assert "as measured now" in page.read_text(encoding="utf-8")
