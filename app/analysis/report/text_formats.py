"""The report as a document, in Markdown and for Word."""

from __future__ import annotations

from app.analysis.report.build import Report
from app.analysis.report.document import blocks
from app.documents import markdown as as_markdown
from app.documents import word as as_word


def markdown(report: Report) -> str:
    """The report as Markdown."""
    return as_markdown.markdown(blocks(report))


def docx(report: Report) -> bytes:
    """The report as a .docx file; raises SettingsError without python-docx."""
    return as_word.docx(report.title, f"Parley {report.parley}", blocks(report))
