"""The report as a self-contained HTML page, readable on a phone and printable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from app.extensions.analysis.estimates import Finding, format_interval, format_p, format_value
from app.extensions.analysis.report import charts, wording
from app.extensions.analysis.report.build import Report, flow_stages, grid, sections
from app.rendering.chart_style import Spec

# The table of a figure with more estimates than this is folded.
MANY = 14


def html(report: Report) -> str:
    """The page; without vl-convert it has tables only, and says how to get the figures."""
    install = charts.lacking()
    return _PAGE.render(
        report=report,
        sections=tuple(sections(report.results.findings)),
        made=wording.when(report.made_us),
        stages=tuple(flow_stages(report)),
        images=_no_images if install else _images,
        install=install,
    )


def _no_images(finding: Finding) -> Sequence[tuple[str, str]]:
    return ()


def _images(finding: Finding) -> Sequence[tuple[str, str]]:
    found: list[tuple[Spec, str]] = []
    if 0 < charts.rows_of(finding) <= charts.MOST_ROWS:
        found.append((charts.forest_chart(finding), finding.title))
    if (plot := finding.scatter) and plot.points:
        found.append((charts.scatter_chart(plot, finding.unit), f"{plot.x} against {plot.y}"))
    return [(charts.image(spec), title) for spec, title in found]


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
    "grid": grid,
    "words": wording,
    "MANY": MANY,
}
_PAGES.filters |= {
    "written": format_value,
    "number": _number,
    "breakable": _breakable,
    "percent": wording.share,
    "p": lambda one: format_p(one.further),
    "between": lambda one, unit: format_interval(one.low, one.high, unit),
}
_PAGE = _PAGES.get_template("page.html.j2")
