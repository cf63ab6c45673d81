"""The report as a Word document, by python-docx (the extra `word`)."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, assert_never

from app.analysis.report.block import Block, BulletList, CodeLine, Contents, Heading, Paragraph, TextTable
from app.analysis.report.build import Report
from app.analysis.report.document import blocks
from app.errors import SettingsError
from problems.errors import install_line

if TYPE_CHECKING:
    from docx.document import Document as Page

INSTALL = f"A Word document needs a package that is not installed: {install_line('word')}"
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow (XML 1.0, production 2)."""
DEEPEST = 9
"""Word's deepest heading."""


def docx(report: Report) -> bytes:
    """The report as a .docx file; raises SettingsError without python-docx."""
    try:
        from docx import Document
    except ImportError as error:
        raise SettingsError(f"{INSTALL} ({error})") from None
    page = Document()
    page.core_properties.title = _text(report.title)
    page.core_properties.author = f"Parley {report.parley}"
    for block in blocks(report):
        _write(page, block)
    file = io.BytesIO()
    page.save(file)
    return file.getvalue()


def _write(page: Page, block: Block) -> None:
    match block:
        case Heading(level, text, _):
            page.add_heading(_text(text), min(level, DEEPEST))
        case Contents():
            pass  # Word makes one from the headings
        case Paragraph(text, loud):
            page.add_paragraph().add_run(_text(text)).bold = loud or None
        case BulletList(items):
            for text, code in items:
                page.add_paragraph(_text(f"{text} {code}".rstrip()), style="List Bullet")
        case CodeLine(text):
            page.add_paragraph(_text(text), style="No Spacing")
        case TextTable():
            _table(page, block)
        case _ as other:
            assert_never(other)


def _table(page: Page, table: TextTable) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH

    page.add_paragraph(_text(table.title), style="Caption")
    made = page.add_table(rows=0, cols=len(table.head), style="Light List")
    for cells in (table.head, *table.rows):
        for number, (cell, text) in enumerate(zip(made.add_row().cells, cells, strict=True)):
            cell.text = _text(text)
            if number >= table.words:
                cell.paragraphs[0].alignment = WD_ALIGN_PARAGRAPH.RIGHT


def _text(text: str) -> str:
    """A text as one line, without characters that a document cannot have."""
    return NOT_XML.sub("\ufffd", " ".join(text.split()))
