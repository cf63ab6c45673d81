"""The report as a self-contained HTML page, readable on a phone and printable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from app.analysis.estimates import format_interval, format_p, format_value
from app.analysis.forest_plot import forest
from app.analysis.report import confirmatory, svg_line_chart, svg_panels, wording
from app.analysis.report.arrangement import main_results, sections
from app.analysis.report.build import Report
from app.analysis.report.consort_flow import flow_stages
from app.analysis.report.document import MANY
from app.analysis.report.grid import grid
from app.analysis.report.quality_and_costs import money
from app.analysis.report.svg_scatter import scatter_chart


def html(report: Report) -> str:
    """The page."""
    findings = report.results.findings
    estimates = [one for finding in findings for one in finding.estimates]
    return _PAGE.render(
        report=report,
        main=tuple(main_results(findings)),
        sections=tuple(sections(findings)),
        made=wording.when(report.made_us),
        stages=tuple(flow_stages(report)),
        panels=svg_panels.panels(estimates, report.compared),
        lines=svg_line_chart.lines(findings),
        names={finding.name for finding in findings},
        planned=tuple(confirmatory.confirmatory(report.trial)) if report.trial else (),
        filled=tuple(confirmatory.filled_checklists(report.trial)) if report.trial else (),
        beside={one.estimate.name: (one.published.value, one.ends) for one in report.compared},
    )


def _breakable(text: str) -> Markup:
    """A text that may break after an underscore or a dot."""
    return escape(text).replace("_", Markup("_<wbr>")).replace(".", Markup(".<wbr>"))


def _number(value: Any) -> str:
    return f"{value:,}"


_PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.globals |= {
    "forest": forest,
    "grid": grid,
    "scatter": scatter_chart,
    "sizes": {"panel": svg_panels, "line": svg_line_chart},
    "words": wording,
    "headings": confirmatory,
    "kind": lambda part: type(part).__name__,
    "MANY": MANY,
}
_PAGES.filters |= {
    "written": format_value,
    "number": _number,
    "breakable": _breakable,
    "percent": wording.share,
    "p": lambda one: format_p(one.further),
    "money": money,
    "between": lambda one, unit: format_interval(one.low, one.high, unit),
}
_PAGE = _PAGES.get_template("page.html.j2")
row_plot = _PAGES.get_template("plots.html.j2").module.row_plot  # type: ignore[attr-defined]
"""Draws a row of a forest plot, with its unit, ticks and reference value, as SVG."""
