"""The report as a page that needs nothing else: it can be looked at on a phone, kept, sent and printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from app.analysis.estimates import Finding, between, told_p, written
from app.analysis.forest import forest
from app.analysis.report import lines, panels, words
from app.analysis.report.conduct import money
from app.analysis.report.gathering import Report
from app.analysis.report.stages import stages

MANY = 14
"""A finding of more estimates than these has closer rows, and its sentences are not printed."""


@dataclass(frozen=True, slots=True)
class Section:
    """The findings of a schema, or of both editions of one."""

    title: str
    anchor: str
    findings: tuple[Finding, ...]


def html(report: Report) -> str:
    """The page."""
    findings = report.results.findings
    estimates = [one for finding in findings for one in finding.estimates]
    return _PAGE.render(
        report=report,
        sections=tuple(sections(findings)),
        made=words.when(report.made_us),
        stages=tuple(stages(report)),
        panels=panels.panels(estimates, report.compared),
        lines=lines.lines(findings),
        names={finding.name for finding in findings},
        beside={one.estimate.name: (one.published.value, one.ends) for one in report.compared},
    )


def sections(findings: tuple[Finding, ...]) -> Iterator[Section]:
    """The findings by what they are about, in their order."""
    titles = dict.fromkeys(words.family(finding.name) for finding in findings)
    for title in titles:
        own = tuple(finding for finding in findings if words.family(finding.name) == title)
        yield Section(title, own[0].name.partition(".")[0], own)


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
_PAGES.globals |= {"forest": forest, "sizes": {"panel": panels, "line": lines}, "words": words, "MANY": MANY}
_PAGES.filters |= {
    "written": written,
    "number": _number,
    "breakable": _breakable,
    "percent": words.share,
    "p": lambda one: told_p(one.further),
    "money": money,
    "between": lambda one, unit: between(one.low, one.high, unit),
}
_PAGE = _PAGES.get_template("page.html.j2")
