"""Documents with what no report has: quotations, pictures and diagrams, as Markdown and for Word."""

from __future__ import annotations

import io
from pathlib import Path

from docx import Document
from docx.shared import Cm
from PIL import Image

from app.documents.block import Diagram, DocumentPicture, Heading, Quotation
from app.documents.markdown import markdown
from app.documents.word import HEIGHT_CM, WIDTH_CM, docx


def picture(folder: Path, width: int, height: int) -> DocumentPicture:
    file = folder / f"{width}.png"
    Image.new("RGB", (width, height)).save(file)
    return DocumentPicture(file, f"screens/{width}.png", f"A screen [{width}]", width)


def test_markdown_has_them_and_shows_what_others_wrote_as_it_is(tmp_path: Path) -> None:
    written = markdown(
        [
            Heading(1, "A"),
            Quotation("# One\n\n<b>two</b>"),
            picture(tmp_path, 390, 800),
            Diagram("flowchart LR\n  a --> b"),
        ]
    )
    assert written == (
        "# A\n\n> \\# One\n>\n> &lt;b&gt;two&lt;/b&gt;\n\n![A screen \\[390\\]](<screens/390.png>)\n\n"
        "```mermaid\nflowchart LR\n  a --> b\n```\n"
    )


def test_word_has_the_pictures_within_the_page_and_no_source_of_a_diagram(tmp_path: Path) -> None:
    blocks = [
        Quotation("one\n\ntwo"),
        picture(tmp_path, 1280, 800),
        picture(tmp_path, 390, 9_000),
        Diagram("flowchart LR"),
    ]
    page = Document(io.BytesIO(docx("Title", "Parley", blocks)))
    assert [one.text for one in page.paragraphs if one.style and one.style.name == "Quote"] == ["one", "two"]
    wide, tall = page.inline_shapes
    assert (wide.width, wide.width / wide.height) == (Cm(WIDTH_CM), 1280 / 800)
    assert tall.height == Cm(HEIGHT_CM)
    assert tall.width < Cm(WIDTH_CM * 390 / 1280)
    assert "flowchart" not in "".join(one.text for one in page.paragraphs)
    assert page.core_properties.title == "Title"
