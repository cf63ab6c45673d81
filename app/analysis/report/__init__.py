"""The report of a study: all its results on one page that needs no network, or as text, tables or data.

gathering   reads and computes what a report says        page       HTML, to look at and to print
conduct     data quality and cost                        blocks     the same as headings, texts and tables
published   a paper's figures, to compare with           markdown, latex, table, data, word     the other formats
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from app.analysis.report.build import FactorArm, Report, VersionUsed, build_report
from app.analysis.report.csv_table import as_csv
from app.analysis.report.html_page import html
from app.analysis.report.json_data import as_json
from app.analysis.report.latex import latex
from app.analysis.report.text_formats import docx, markdown

FORMATS: Mapping[str, Callable[[Report], str]] = MappingProxyType(
    {"html": html, "md": markdown, "tex": latex, "csv": as_csv, "json": as_json}
)
"""How a report can be written as text, by the ending of its file."""


def as_file(report: Report, form: str) -> bytes:
    """The content of a report's file: one of FORMATS, or `docx`. Raises SettingsError without the package for it."""
    return docx(report) if form == "docx" else FORMATS[form](report).encode()


__all__ = [
    "FORMATS",
    "FactorArm",
    "Report",
    "VersionUsed",
    "as_csv",
    "as_file",
    "as_json",
    "build_report",
    "docx",
    "html",
    "latex",
    "markdown",
]
