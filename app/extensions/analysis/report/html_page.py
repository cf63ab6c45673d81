"""The report as a self-contained HTML page, readable on a phone and printable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from app.errors import SettingsError
from app.extensions.analysis.estimates import Finding, format_interval, format_p, format_value
from app.extensions.analysis.report import charts, wording
from app.extensions.analysis.report.arrangement import grid, sections
from app.extensions.analysis.report.build import Report, flow_stages, money
from app.extensions.analysis.report.document import MANY
from app.rendering.chart_style import Spec


def html(report: Report) -> str:
    """The page; without vl-convert it has tables only, and says how to get the figures."""
    images, install = _images(report), ""
    try:
        charts.require_charts()
    except SettingsError as error:
        images, install = _no_images, str(error)
    return _PAGE.render(
        report=report,
        sections=tuple(sections(report.results.findings)),
        made=wording.when(report.made_us),
        stages=tuple(flow_stages(report)),
        images=images,
        install=install,
        beside={one.estimate.name: one for one in report.compared},
    )


def _no_images(finding: Finding) -> Sequence[tuple[str, str]]:
    return ()


def _images(report: Report) -> Callable[[Finding], Sequence[tuple[str, str]]]:
    """The images of a finding, each with its description; those of several findings are with the first of them."""
    findings = report.results.findings
    published = {one.estimate.name: one for one in report.compared}
    turns = [finding.name for finding in findings if finding.name.startswith(charts.BY_TURN)]

    def images(finding: Finding) -> Sequence[tuple[str, str]]:
        found: list[tuple[Spec | None, str]] = []
        if finding.name == "chatbench.accuracy":
            found.append((charts.accuracy_chart(finding.estimates, published), "Accuracy by dataset and model"))
        elif turns[:1] == [finding.name]:
            found.append((charts.turns_chart(findings), "Mean ratings by turn"))
        elif finding.name not in turns and 0 < charts.rows_of(finding) <= charts.MOST_ROWS:
            found.append((charts.forest_chart(finding, published), finding.title))
        if (plot := finding.scatter) and plot.points:
            found.append((charts.scatter_chart(plot, finding.unit), f"{plot.x} against {plot.y}"))
        return [(charts.image(spec), title) for spec, title in found if spec is not None]

    return images


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
