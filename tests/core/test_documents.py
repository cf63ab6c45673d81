"""Documents with what no report has: quotations, pictures and diagrams, as Markdown and for Word."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from app.documents.block import Diagram, DocumentPicture, Heading, Quotation
from app.documents.markdown import markdown


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
