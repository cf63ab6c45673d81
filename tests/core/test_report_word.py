"""The report as a Word document: the same headings, texts and tables as in the other formats."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import pytest
from docx import Document

from app.analysis.report import docx
from app.analysis.report.document import blocks
from app.documents.block import Heading, TextTable
from app.errors import SettingsError
from tests.fakes.reports import accuracy, by_turn, hostile, report


def test_it_has_every_heading_and_cell_of_the_text_formats() -> None:
    made = report(accuracy(), by_turn(), hostile())
    page, known = Document(io.BytesIO(docx(made))), list(blocks(made))
    headings = [one.text for one in page.paragraphs if one.style and (one.style.name or "").startswith("Heading")]
    assert headings == [" ".join(block.text.split()) for block in known if isinstance(block, Heading)]
    tables = [block for block in known if isinstance(block, TextTable)]
    assert len(page.tables) == len(tables) > 0
    for found, table in zip(page.tables, tables, strict=True):
        cells = [[cell.text for cell in row.cells] for row in found.rows]
        assert cells == [[" ".join(text.split()) for text in row] for row in (table.head, *table.rows)]


def test_characters_that_no_document_can_have_are_replaced() -> None:
    made = report(hostile())
    page = Document(io.BytesIO(docx(replace(made, title="a\x00b\x1bc\ud800"))))
    assert page.paragraphs[0].text == "a\ufffdb\ufffdc\ufffd"


def test_without_the_package_the_error_has_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docx", None)
    with pytest.raises(SettingsError, match=r"parley-studies\[word\]"):
        docx(report())
