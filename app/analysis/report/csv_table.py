"""The report's figures as csv, one row per figure; cells that a spreadsheet would run as formulas are escaped."""

from __future__ import annotations

import csv
import io
from typing import Any

import orjson

from app.analysis.report.build import Report
from app.analysis.report.json_data import figure
from storage.datasets.describe.csv_injection import escaped

PUBLISHED = ("value", "standard_error", "source")


def as_csv(report: Report) -> str:
    """The figures, in full precision and in the report's order; groups and further numbers are JSON."""
    printed = {one.estimate.name: one.published for one in report.compared}
    rows = [
        {
            "name": one.name,
            **_flat(figure(finding, one, printed.get(one.name))),
            "study": report.study,
            "origin": report.origin,
            "warning": report.warning,
        }
        for finding in report.findings
        for one in finding.estimates
    ]
    head = list(dict.fromkeys(name for row in rows for name in row)) or ["name", "value", "low", "high", "n"]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, head, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: escaped(cell) if isinstance(cell, str) else cell for name, cell in row.items()} for row in rows
    )
    return out.getvalue()


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """A figure's values in cells."""
    published = values.pop("published", None)
    cells = {name: orjson.dumps(value).decode() if isinstance(value, dict) else value for name, value in values.items()}
    return cells | ({f"published_{name}": published[name] for name in PUBLISHED} if published else {})
