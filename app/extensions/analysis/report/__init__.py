"""The report of a study: all its results on one page that needs no network, or as CSV or JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.extensions.analysis.report.build import FactorArm, Report, VersionUsed, build_report
from app.extensions.analysis.report.data_formats import as_csv, as_json
from app.extensions.analysis.report.html_page import html

# How a report is written, by the ending of its file.
FORMATS: Mapping[str, Callable[[Report], str]] = {"html": html, "csv": as_csv, "json": as_json}


__all__ = ["FORMATS", "FactorArm", "Report", "VersionUsed", "as_csv", "as_json", "build_report", "html"]
