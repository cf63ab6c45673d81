"""The report of a study: all its results on one page that needs no network, or as text, tables or data.

gathering   reads and computes what a report says        page       HTML, to look at and to print
conduct     data quality and cost                        blocks     the same as headings, texts and tables
published   a paper's figures, to compare with           markdown, latex, table, data     the other formats
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from app.analysis.report.build import FactorArm, Report, VersionUsed, build_report
from app.analysis.report.csv_table import as_csv
from app.analysis.report.html_page import html
from app.analysis.report.json_data import as_json
from app.analysis.report.latex import latex
from app.analysis.report.markdown import markdown

FORMATS: Mapping[str, Callable[[Report], str]] = MappingProxyType(
    {"html": html, "md": markdown, "tex": latex, "csv": as_csv, "json": as_json}
)
"""How a report can be written, by the ending of its file."""

__all__ = [
    "FORMATS",
    "FactorArm",
    "Report",
    "VersionUsed",
    "as_csv",
    "as_json",
    "build_report",
    "html",
    "latex",
    "markdown",
]
