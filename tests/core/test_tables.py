"""Tables as people have them, and whatever bytes a file of such a name holds."""

from __future__ import annotations

import csv
import io
import json
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook
from pyarrow import ipc, parquet

from problems.errors import ProblemError
from problems.tables import READERS, SEPARATORS, Table, read_table

WORD = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1).map(str.strip)
FILES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(folder: Path, name: str, content: str | bytes) -> Table:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path)


def cells(table: Table) -> list[dict[str, Any]]:
    return [dict(row.cells) for row in table.rows]


@FILES
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


def test_excel_s_escapes_are_characters(tmp_path: Path) -> None:
    """Line ends that Excel wrote as `_x000D_` are line ends; other control characters are told with their row."""
    book = Workbook()
    book.active.append(["question", "answer"])
    book.active.append(["one_x000D_\ntwo", "three"])
    book.save(tmp_path / "t.xlsx")
    assert cells(read_table(tmp_path / "t.xlsx")) == [{"question": "one\ntwo", "answer": "three"}]
    book.active.append(["four", "fi_x000B_ve"])
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(ProblemError, match=r"row 3: U\+000B"):
        read_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize("content", ["sep=;\nquestion;answer\nA, b?;7\n", 'sep=\t\nquestion\tanswer\nA, b?\t="7"\n'])
def test_what_is_written_for_excel_is_read(content: str, tmp_path: Path) -> None:
    assert cells(read(tmp_path, "t.csv", content)) == [{"question": "A, b?", "answer": "7"}]


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


@FILES
@given(
    ending=st.sampled_from([*READERS]),
    content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")),
)
def test_any_bytes_are_a_table_or_one_clear_error(tmp_path: Path, ending: str, content: bytes) -> None:
    with suppress(ProblemError):
        read(tmp_path, f"t{ending}", content)


def test_excel_cells_are_as_a_person_reads_them(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Questions"], [], ["question", "a", "b", "on"], ["Why?", 4.0, True, datetime(2026, 11, 26)]):
        sheet.append(row)
    sheet.append(["When?", 0.5, None, date(2026, 1, 2)])
    book.create_sheet("Notes").append(["not read"])
    book.save(tmp_path / "t.xlsx")
    table = read_table(tmp_path / "t.xlsx")
    assert cells(table) == [
        {"question": "Why?", "a": "4", "b": "TRUE", "on": "2026-11-26"},
        {"question": "When?", "a": "0.5", "on": "2026-01-02"},
    ]
    assert table.rows[0].where == "row 4"
    assert any("Sheet" in note for note in table.notes)


@pytest.fixture(scope="module")
def workbook() -> bytes:
    book, content = Workbook(), io.BytesIO()
    assert book.active is not None
    book.active.append(["question", "answer"])
    book.active.append(["Why?", "Because"])
    book.save(content)
    return content.getvalue()


@FILES
@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(1, 255), cut=st.booleans())
def test_a_damaged_workbook_is_one_clear_error(
    tmp_path: Path, workbook: bytes, place: float, byte: int, cut: bool
) -> None:
    at = int(place * len(workbook))
    damaged = workbook[:at] if cut else workbook[:at] + bytes([workbook[at] ^ byte]) + workbook[at + 1 :]
    with suppress(ProblemError):
        read(tmp_path, "t.xlsx", damaged)


def labelled() -> pa.Table:
    """As `datasets` writes MMLU: the answer is a class label."""
    features = {
        "question": {"dtype": "string", "_type": "Value"},
        "answer": {"names": ["A", "B"], "_type": "ClassLabel"},
    }
    table = pa.table({"question": ["Why?", "How?"], "choices": [["x", "y"], ["z", "w"]], "answer": [1, -1]})
    return table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})


def test_files_of_hugging_face_have_their_labels(tmp_path: Path) -> None:
    wanted = [{"question": "Why?", "choices": ["x", "y"], "answer": "B"}, {"question": "How?", "choices": ["z", "w"]}]
    parquet.write_table(labelled(), tmp_path / "test-00000-of-00001.parquet")
    assert cells(read_table(tmp_path / "test-00000-of-00001.parquet")) == wanted
    saved = tmp_path / "saved"
    saved.mkdir()
    with ipc.new_stream(saved / "data-00000-of-00001.arrow", labelled().schema) as stream:
        stream.write_table(labelled())
    (saved / "dataset_info.json").write_text("{}")
    (saved / "state.json").write_text("{}")
    assert cells(read_table(saved)) == wanted


def test_a_folder_of_markdown_is_an_item_a_file(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("---\ntopic: Algebra\nyear: 1999\n---\n# Why?\n\nShow it.\n")
    (tmp_path / "two.md").write_text("How?")
    (tmp_path / "README.md").write_text("About these files")
    assert cells(read_table(tmp_path)) == [
        {"id": "one", "topic": "Algebra", "year": "1999", "question": "# Why?\n\nShow it."},
        {"id": "two", "question": "How?"},
    ]


def test_rows_of_several_files_say_which(tmp_path: Path) -> None:
    (tmp_path / "easy.csv").write_text("question,answer\nWhy?,1\n")
    (tmp_path / "hard.jsonl").write_text('{"question": "How?"}\n')
    table = read_table(tmp_path)
    assert [(row.where, row.cells["file"]) for row in table.rows] == [
        ("easy, line 2", "easy"),
        ("hard, line 1", "hard"),
    ]
