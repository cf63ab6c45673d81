"""Workbooks as Excel and LibreOffice write them: which sheet is read, and what becomes of its cells."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from problems.spreadsheets import number_text, read_workbook
from problems.tables import Table, read_table

HEAD = ["question", "a", "b", "answer"]


def saved(folder: Path, **sheets: Sequence[Sequence[Any]]) -> tuple[Workbook, Path]:
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(folder / "t.xlsx")
    return book, folder / "t.xlsx"


def edited(path: Path, part: str, pattern: str, new: str) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    before = parts[part].decode()
    parts[part] = re.sub(pattern, new, before).encode()
    assert parts[part].decode() != before
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    path.write_bytes(out.getvalue())


def cells(table: Table) -> list[Mapping[str, Any]]:
    return [dict(row.cells) for row in table.rows]


def test_cells_are_as_the_sheet_shows_them(tmp_path: Path) -> None:
    rows = [["Questions"], [], HEAD, ["Why?", 0.5, 81, True], ["When?", datetime(2026, 3, 1), 1234.5, 5e5]]
    rows.append(["How long?", timedelta(hours=30)])
    book, path = saved(tmp_path, Sheet=rows)
    for cell, code in {"B4": "0%", "C4": "0.0", "B5": "d mmm", "C5": "#,##0.00", "D5": "0.0E+00"}.items():
        book["Sheet"][cell].number_format = code
    book.save(path)
    table = read_table(path)
    assert table == read_workbook(path, "", "")
    assert cells(table) == [
        {"question": "Why?", "a": "50%", "b": "81.0", "answer": "TRUE"},
        {"question": "When?", "a": "2026-03-01", "b": "1,234.50", "answer": "500000"},
        {"question": "How long?", "a": "1 day, 6:00:00"},
    ]
    assert [row.where for row in table.rows] == ["row 4", "row 5", "row 6"]
    assert [note for note in table.notes if "0.0E+00" in note and "D5" in note], "the format that is not known"
    assert [note for note in table.notes if "B5" in note and "B6" in note]


@pytest.mark.parametrize(
    ("value", "code", "wanted"),
    [
        (0.1 + 0.2, "General", "0.3"),
        (2.675, "0.00", "2.68"),
        (-1234567.891, "#,##0.00", "-1,234,567.89"),
        (1.5, "[$€-407]\\ 0.00", None),
        (5e5, "0.00E+00", None),
        (1e300, "0", None),
    ],
)
def test_a_number_is_as_the_sheet_shows_it(value: float, code: str, wanted: str | None) -> None:
    assert number_text(value, code) == wanted


def test_errors_and_formulas_without_a_value_are_faults_of_their_rows(tmp_path: Path) -> None:
    rows = [
        HEAD,
        ["Why?", "#N/A", "y", "y"],
        ["How?", "x", "=1+1", "x"],
        ["Who?", "x", "=2+2", "x"],
        ["?", "", "=3", ""],
    ]
    _, path = saved(tmp_path, Sheet=rows)
    edited(path, "xl/worksheets/sheet1.xml", r"<f>2\+2</f><v ?(/|></v)>", "<f>2+2</f><v>4</v>")
    edited(path, "xl/worksheets/sheet1.xml", r'"C5"><f>3</f>', '"C5" t="str"><f>3</f>')
    edited(path, "xl/worksheets/sheet1.xml", r'<row r="4"', '<row r="4" hidden="1"')
    table = read_workbook(path, "", "")
    assert table.notes == ("hidden, and read as well: row 4",)
    assert [list(row.faults) for row in table.rows] == [["a"], ["b"], [], []]
    assert "#N/A" in table.rows[0].faults["a"]
    assert "formula" in table.rows[1].faults["b"]
    assert table.rows[2].cells["b"] == "4"


@pytest.mark.parametrize(
    ("sheets", "named", "question", "wanted"),
    [
        ({"Notes": [["Read me"]], "Mine": [HEAD, ["Why?"]]}, "", "", "Mine"),
        ({"Key": [["code", "text of it"], ["a", "b"]], "Mine": [HEAD, ["Why?"]]}, "", "", "Mine"),
        ({"Data": [["n", "of"], *([["1", "2"]] * 200)], "Mine": [HEAD, ["Why?"]]}, "", "", "Mine"),
        ({"Hinweise": [["Bitte lesen"]], "Fragen": [["Frage", "a"], ["Was?", "x"]]}, "", "", "Fragen"),
        ({"Liste": [["Name", "Ort"], ["x", "y"]], "Fragen": [["Frage", "a"], ["Was?", "x"]]}, "", "Frage", "Fragen"),
        ({"One": [HEAD, ["Why?"]], "Two": [HEAD, ["How?"]]}, "Two", "", "Two"),
        ({"One": [HEAD, ["Why?"]], "Two": [HEAD, ["How?"]]}, "", "", "One"),
    ],
)
def test_the_sheet_with_the_questions_is_read_or_the_one_that_is_named(
    sheets: dict[str, Any], named: str, question: str, wanted: str, tmp_path: Path
) -> None:
    _, path = saved(tmp_path, **sheets)
    table = read_workbook(path, named, question)
    assert table.sheets[0] == wanted
    assert {*table.sheets} == {*sheets}
    assert any(repr(wanted) in note for note in table.notes)
