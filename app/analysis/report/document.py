"""A report as headings, paragraphs, lists and tables, for the text formats (Markdown and LaTeX)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from app.analysis.estimates import COUNT, Finding, format_interval, format_p, format_value
from app.analysis.report import wording
from app.analysis.report.build import Report
from app.analysis.report.consort_flow import flow_stages
from app.analysis.report.quality_and_costs import money


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a level from 1."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; a loud one is a warning."""

    text: str
    loud: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list; an item may end with code."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of code."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first `words` columns are text, the others numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1


Block: TypeAlias = Heading | Paragraph | Items | CodeLine | Table


def blocks(report: Report) -> Iterator[Block]:
    """All of a report, in its order."""
    yield Heading(1, report.title)
    if report.warning:
        yield Paragraph(report.warning, loud=True)
    versions = (("version", f"{version.number}, {version.hash}") for version in report.versions)
    known = (("study", report.study), ("data of", f"{report.whose} ({report.origin})"), *versions)
    records = ", ".join(report.results.schemas) or "none that Parley has an analysis for"
    made = f"{wording.when(report.made_us)}, by Parley {report.parley}"
    yield Items(
        tuple((f"{name}: {told}", "") for name, told in (*known, ("recorded schemas", records), ("created", made)))
    )
    yield from _main(report)
    yield from _participants(report)
    yield from _results(report)
    yield from _compared(report)
    yield from _conduct(report)


def _main(report: Report) -> Iterator[Block]:
    """The sentences of the main results."""
    found = [one for finding in wording.main(report.results.findings) for one in finding.estimates[: wording.MOST]]
    if found:
        yield Heading(2, wording.MAIN)
        yield Items(tuple((one.sentence, "") for one in found))


def _participants(report: Report) -> Iterator[Block]:
    yield Heading(2, "Participants")
    told = []
    for stage in flow_stages(report):
        if stage.out:
            why = "; ".join(f"{reason}: {number:,}" for number, reason in stage.out.items)
            told.append(f"{stage.out.number:,} {stage.out.words}" + (f" ({why})" if why else ""))
        told.append(f"{stage.number:,} {stage.words}" + (f" ({stage.note})" if stage.note else ""))
    yield Items(tuple((one, "") for one in told))
    if report.arms:
        rows = (
            (a.factor, a.value, f"{a.arrived:,}", f"{a.complete:,}", wording.share(a.share), wording.share(a.target))
            for a in report.arms
        )
        head = ("Factor", "Value", "Started", "Completed", "Share", "Target")
        yield Table("Conditions against their targets", head, tuple(rows), 2)
        yield Paragraph(wording.ARMS)


def _results(report: Report) -> Iterator[Block]:
    if not report.results.findings:
        yield Heading(2, "Results")
        yield Paragraph("There is nothing to estimate yet.")
    section = method = ""
    for finding in report.results.findings:
        if section != (section := wording.family(finding.name)):
            yield Heading(2, section)
        yield from _finding(finding)
        yield Paragraph("Same method as above." if method == (method := finding.method) else method)
        yield CodeLine(finding.code)


def _finding(finding: Finding) -> Iterator[Block]:
    yield Heading(3, finding.title)
    head = ("Group", "Estimate", "95 % interval", f"n ({finding.counts})", "Participants")
    tested = wording.tested(finding)
    figures = (
        (
            one.label,
            format_value(one.value, finding.unit),
            format_interval(one.low, one.high, finding.unit),
            f"{one.n:,}",
            f"{one.participants:,}" if one.participants else "–",
            *([format_p(one.further) or "–"] if tested else []),
        )
        for one in finding.estimates
    )
    if finding.estimates:
        yield Table(finding.title, (*head, *([tested] if tested else [])), tuple(figures))
    if finding.note:
        yield Paragraph(finding.note)
    if finding.estimates:
        yield Items(tuple((wording.sentence(finding, one), one.name) for one in finding.estimates))
    if (why := wording.reason(finding)) and finding.unit != COUNT:
        yield Paragraph(f"No interval: {why}")


def _compared(report: Report) -> Iterator[Block]:
    if report.against is None:
        return
    yield Heading(2, "Comparison with published figures")
    rows = (
        (
            one.estimate.name,
            one.published.source,
            format_value(one.estimate.value, one.finding.unit),
            format_value(one.published.value, one.finding.unit),
            one.told_error,
            one.told_difference,
        )
        for one in report.compared
    )
    if report.compared:
        head = ("Figure", "Source", "Here", "Published", "Standard error", "Difference")
        yield Table(f"Comparison with {report.against.title}", head, tuple(rows), 2)
    yield Paragraph(report.told_against)


def _conduct(report: Report) -> Iterator[Block]:
    if report.quality is not None:
        yield Heading(2, "Data quality")
        odd = tuple((what, f"{n:,}", f"{of:,}") for what, n, of in report.quality.told(report.flow))
        if odd:
            yield Table("Data quality", ("Issue", "Count", "Of"), odd)
        yield Paragraph(wording.FLAGGED if odd else wording.UNTOLD)
    if report.costs is not None:
        yield Heading(2, "Cost")
        rows = tuple(
            (name, *(f"{n:,}" for n in (c.attempts, c.failed, c.prompt_tokens, c.completion_tokens)), money(c))
            for name, c in report.costs.told
        )
        if rows:
            head = ("Model", "Calls", "Failed", "Input tokens", "Output tokens", f"Cost ({report.costs.currency})")
            yield Table("Cost", head, rows)
        yield Paragraph(report.costs.note)
