"""A document for Word, by python-docx (the extra `word`)."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, assert_never

from app.documents.block import (
    BulletList,
    CodeLine,
    Contents,
    Diagram,
    DocumentBlock,
    DocumentPicture,
    Heading,
    Paragraph,
    Quotation,
    TextTable,
)
from app.errors import SettingsError
from problems.errors import install_line

if TYPE_CHECKING:
    from docx.document import Document as Page

INSTALL = f"A Word document needs a package that is not installed: {install_line('word')}"
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow (XML 1.0, production 2)."""
DEEPEST = 9
"""Word's deepest heading."""
WIDTH_CM, HEIGHT_CM, FULL_PX = 15.0, 21.0, 1280
"""The size of the text on a page, and the width of a screen that fills it."""


def docx(title: str, author: str, blocks: Iterable[DocumentBlock]) -> bytes:
    """The document as a .docx file; raises SettingsError without python-docx."""
    try:
        from docx import Document
    except ImportError as error:
        raise SettingsError(f"{INSTALL} ({error})") from None
    page = Document()
    page.core_properties.title = _text(title)
    page.core_properties.author = author
    for block in blocks:
        _write(page, block)
    file = io.BytesIO()
    page.save(file)
    return file.getvalue()


def _write(page: Page, block: DocumentBlock) -> None:
    match block:
        case Heading(level, text, _):
            page.add_heading(_text(text), min(level, DEEPEST))
        case Contents():
            pass  # Word makes one from the headings
        case Paragraph(text, loud):
            page.add_paragraph().add_run(_text(text)).bold = loud or None
        case BulletList(items):
            _list(page, items)
        case CodeLine(text):
            page.add_paragraph(_text(text), style="No Spacing")
        case TextTable():
            _table(page, block)
        case Quotation() | DocumentPicture() | Diagram():
            _insert(page, block)
        case _ as other:
            assert_never(other)


def _insert(page: Page, block: Quotation | DocumentPicture | Diagram) -> None:
    from docx.shared import Cm

    match block:
        case Quotation(text):
            for line in filter(str.strip, text.splitlines()):
                page.add_paragraph(_text(line), style="Quote")
        case DocumentPicture(file, _, description, width_px):
            shape = page.add_picture(str(file), width=Cm(WIDTH_CM * min(1, width_px / FULL_PX)))
            if shape.height > Cm(HEIGHT_CM):
                shape.width, shape.height = round(shape.width * Cm(HEIGHT_CM) / shape.height), Cm(HEIGHT_CM)
            page.add_paragraph(_text(description), style="Caption")
        case Diagram():
            pass  # Word has no Mermaid


def _list(page: Page, items: Iterable[tuple[str, str]]) -> None:
    for text, code in items:
        page.add_paragraph(_text(f"{text} {code}".rstrip()), style="List Bullet")


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
