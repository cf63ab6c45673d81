"""The report's figures as JSON and as CSV: by stable name, in full precision and with all details.

json.load(open("report.json"))["figures"]["dices.alpha_nominal.Q_overall"]["value"]

Cells of the CSV that a spreadsheet would run as formulas are escaped.
"""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import orjson

from app.extensions.analysis.chatbench.published import PublishedFigure
from app.extensions.analysis.estimates import Estimate, Finding
from app.extensions.analysis.report.build import Report
from app.extensions.analysis.results import about, figure_names
from storage.datasets.writers import escaped
from storage.registers.origins import SIMULATED, Origin

# The version of the format; it changes if a field that programs read changes its meaning.
SCHEMA = "parley-report/1"
LOOKS = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE


def as_json(report: Report) -> str:
    return orjson.dumps(contents(report), option=LOOKS).decode()


def contents(report: Report) -> dict[str, Any]:
    printed = {one.estimate.name: one.published for one in report.compared}
    pairs = [(finding, one) for finding in report.findings for one in finding.estimates]
    return {
        "schema": SCHEMA,
        "parley": report.parley,
        "made": _iso(report.made_us),
        "study": report.study,
        "title": report.title,
        "versions": [asdict(version) for version in report.versions],
        "origin": report.origin,
        "simulated": report.origin in SIMULATED,
        "pilot": report.origin == Origin.PILOT,
        "warning": report.warning or None,
        "schemas": report.results.schemas,
        "flow": _flow(report),
        "conditions": [asdict(arm) for arm in report.arms],
        "figures": {one.name: figure(finding, one, printed.get(one.name)) for finding, one in pairs},
        "findings": [_finding(finding) for finding in report.findings],
        "trial": report.trial.data if report.trial else None,
        "against": _against(report),
    }


def figure(finding: Finding, estimate: Estimate, published: PublishedFigure | None = None) -> dict[str, Any]:
    """A figure with its interval, sizes and sentence; `published` only where it is compared."""
    values = asdict(estimate) | {
        "level": None if estimate.low is None else estimate.level,
        "counts": finding.counts,
        "unit": finding.unit,
    }
    order = ("label", "value", "low", "high", "level", "n", "counts", "participants", "unit", "groups", "further")
    found = {name: values[name] for name in (*order, "sentence", "why")}
    found |= {"about": about(estimate.name, figure_names()), "finding": finding.name}
    return found | ({"published": asdict(published)} if published is not None else {})


def _flow(report: Report) -> dict[str, Any]:
    people = report.flow
    counts = {"arrived": people.arrived, "excluded": report.excluded, "analysed": report.results.analysed}
    parts = {"part": people.part or None, "other_parts": people.elsewhere}
    which = {"unfinished": report.unfinished, "outcomes": people.outcomes}
    return {**counts, **parts, **which, "reasons_for_exclusion": people.excluded}


def _finding(finding: Finding) -> dict[str, Any]:
    values = {name: getattr(finding, name) for name in ("name", "title", "method", "code", "reference", "note")}
    values["scatter"] = finding.scatter and asdict(finding.scatter)
    return values | {"figures": [one.name for one in finding.estimates]}


def _iso(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1e6, UTC).isoformat()


def _against(report: Report) -> dict[str, Any] | None:
    if report.against is None:
        return None
    figures, compared = len(report.against.figures), len(report.compared)
    return {"name": report.against.name, "title": report.against.title, "figures": figures, "compared": compared}


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
    published = values.pop("published", None)
    cells = {name: orjson.dumps(value).decode() if isinstance(value, dict) else value for name, value in values.items()}
    return cells | ({f"published_{name}": published[name] for name in PUBLISHED} if published else {})
