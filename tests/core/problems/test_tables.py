"""Tables as people have them, and whatever bytes a file of such a name holds."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from problems import tables
from problems.errors import ProblemError
from problems.tables import SEPARATORS, Table, read_table

LETTER = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="\ufffe\uffff")
WORD = st.text(LETTER, min_size=1).map(str.strip)
FILES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(folder: Path, name: str, content: str | bytes) -> Table:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path)


def cells(table: Table) -> list[dict[str, Any]]:
    return [dict(row.cells) for row in table.rows]


@FILES
@example(rows=[["0", "|", "||"]], separator=",", ending="\n", encoding="utf-8")
@given(
    rows=st.lists(st.lists(WORD.filter(bool), min_size=3, max_size=3), min_size=1, max_size=5),
    separator=st.sampled_from([*SEPARATORS]),
    ending=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_a_csv_file_is_read_whatever_separates_it(
    tmp_path: Path, rows: list[list[str]], separator: str, ending: str, encoding: str
) -> None:
    written = io.StringIO()
    csv.writer(written, delimiter=separator, lineterminator=ending, quoting=csv.QUOTE_ALL).writerows(
        [["question", "answer", "topic"], *rows]
    )
    table = read(tmp_path, "t.csv", written.getvalue().encode(encoding))
    assert cells(table) == [dict(zip(("question", "answer", "topic"), row, strict=True)) for row in rows]


def test_what_spreadsheets_leave_behind_is_passed_over_and_told(tmp_path: Path) -> None:
    table = read(tmp_path, "t.csv", "My questions,,,\n,,,\nquestion,answer,,\n,,,\nWhy?,Because,,\nHow?,,,\n")
    assert table.columns == ("question", "answer")
    assert cells(table) == [{"question": "Why?", "answer": "Because"}, {"question": "How?"}]
    assert [row.where for row in table.rows] == ["line 5", "line 6"]
    assert len(table.notes) == 2


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("t.csv", "question,answer\nWhy?,Because,more\n", "line 2"),
        ("t.csv", "question,question\nWhy?,Because\n", "line 1"),
        ("t.csv", 'question,answer\nWhy?,"Because\n', "line 2"),
        ("t.csv", b"question,answer\nWhy?,Caf\xe9\n", "line 2"),
        ("t.csv", "", "is empty"),
        ("t.jsonl", '{"question": "Why?"}\n{"question"\n', "line 2"),
        ("t.jsonl", '{"question": "Why?"}\n5\n', "line 2"),
        ("t.json", '{"question": "Why?"}', "list of objects"),
        ("t.xlsx", b"PK nonsense", "xlsx"),
        ("t.parquet", b"PAR1 nonsense", "cannot be read"),
        ("t.md", "---\n: [\n---\nText", "front matter"),
        ("t.docx", b"", "allowed: .csv"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(
    tmp_path: Path, name: str, content: str | bytes, place: str
) -> None:
    with pytest.raises(ProblemError, match=place):
        read(tmp_path, name, content)


def as_parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


def repeated(rows: int, text: str) -> bytes:
    return as_parquet(pa.table({"question": pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), [text])}))


def test_what_would_take_all_memory_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="memory"):
        read(tmp_path, "t.parquet", repeated(1_000, "x" * 10_000_000))


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("t.csv", "question\n" + "Why?\n" * 5, "rows"),
        ("t.tsv", "question\tanswer\n" + "Why?\tx\n" * 5, "rows"),
        ("t.jsonl", '{"question": "Why?"}\n' * 5, "rows"),
        ("t.json", json.dumps([{"question": "Why?"}] * 5), "rows"),
        ("t.csv", "a,b,c,d,e\n1,2,3,4,5\n", "columns"),
        ("t.csv", "a,b\n1,2,3,4,5\n", "columns"),
        ("t.jsonl", '{"a": 1}\n{"b": 1, "c": 1}\n{"d": 1, "e": 1}', "columns"),
        ("t.md", "x" * 101, "bytes"),
        ("t.csv", "a,b\n" + "x" * 101, "bytes"),
        ("t.parquet", "x" * 101, "bytes"),
    ],
)
def test_no_more_is_read_than_the_bounds_allow(
    name: str, content: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for bound, most in {"MOST_ROWS": 4, "MOST_COLUMNS": 4, "MOST_BYTES": 100 if what == "bytes" else 10_000}.items():
        monkeypatch.setattr(tables, bound, most)
    with pytest.raises(ProblemError, match=what):
        read(tmp_path, name, content)


def test_a_folder_of_markdown_is_an_item_a_file(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("---\ntopic: Algebra\nyear: 1999\n---\n# Why?\n\nShow it.\n")
    (tmp_path / "two.md").write_text("How?")
    (tmp_path / "README.md").write_text("About these files")
    assert cells(read_table(tmp_path)) == [
        {"id": "one", "topic": "Algebra", "year": "1999", "question": "# Why?\n\nShow it."},
        {"id": "two", "question": "How?"},
    ]
