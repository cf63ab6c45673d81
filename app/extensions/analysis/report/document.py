"""The blocks of a report, and how they are written as Markdown; user-supplied text is escaped.

A report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import assert_never

from app.extensions.analysis.estimates import COUNT, Estimate, Finding, format_interval, format_p, format_value
from app.extensions.analysis.report import wording
from app.extensions.analysis.report.arrangement import Grid, grid, sections
from app.extensions.analysis.report.build import (
    Block,
    BulletList,
    CodeLine,
    Contents,
    Heading,
    Paragraph,
    Report,
    TextTable,
    flow_stages,
    money,
)

# Characters with a special meaning in Markdown and its tables.
SIGNS = re.compile(r"([\\`*_{}\[\]#|~$^])")
# Line beginnings that would start a list or turn the previous line into a heading.
FIRST = re.compile(r"^(?:[-+]|\d+[.)])(?= |$)|^=")
HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def as_markdown(blocks: Iterable[Block]) -> str:
    return "\n\n".join(map(_written, blocks)) + "\n"


def escaped(text: str) -> str:
    """A text as one line of Markdown that shows just that."""
    line = SIGNS.sub(r"\\\1", " ".join(text.split()))
    line = FIRST.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", line)
    return "".join(HTML.get(sign, sign) for sign in line)


def _code(text: str) -> str:
    """A text as code, enclosed in more backticks than it contains in a row."""
    line = " ".join(text.split())
    ticks = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    space = " " if "`" in line else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def _written(block: Block) -> str:
    match block:
        case Heading(level, text, anchor):
            return (f'<a id="{anchor}"></a>\n\n' if anchor else "") + f"{'#' * level} {escaped(text)}"
        case Contents(entries):
            return "\n".join(
                f"{'  ' * (entry.level - 1)}- [{escaped(entry.text)}](#{entry.anchor})" for entry in entries
            )
        case Paragraph(text, loud):
            return f"> **{escaped(text)}**" if loud else escaped(text)
        case BulletList(items):
            return "\n".join(f"- {escaped(text)}" + (f" {_code(code)}" if code else "") for text, code in items)
        case CodeLine(text):
            return f"    {' '.join(text.split())}"
        case TextTable():
            return _written_table(block)
        case _ as other:
            assert_never(other)


def _written_table(table: TextTable) -> str:
    sides = ["---" if number < table.words else "---:" for number in range(len(table.head))]
    lines = [[escaped(cell) for cell in table.head], sides, *([escaped(cell) for cell in row] for row in table.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# The number of characters of a table's numbers that fit the width of a page.
WIDTH = 62
# Sentences are left out of a figure with more estimates than this.
MANY = 14
LEVEL_P = 0.05
STARS = ("* p < 0.05.", "* p < 0.05; ** also adjusted for several tests.")


def markdown(report: Report) -> str:
    return as_markdown(blocks(report))


def blocks(report: Report) -> Iterator[Block]:
    yield Heading(1, report.title)
    if report.warning:
        yield Paragraph(report.warning, loud=True)
    versions = (("version", f"{version.number}, {version.hash}") for version in report.versions)
    known = (("study", report.study), ("data of", f"{report.whose} ({report.origin})"), *versions)
    records = ", ".join(report.results.schemas) or "none that Parley has an analysis for"
    made = f"{wording.when(report.made_us)}, by Parley {report.parley}"
    yield BulletList(
        tuple((f"{name}: {value}", "") for name, value in (*known, ("recorded schemas", records), ("created", made)))
    )
    if report.trial:
        yield from _contents(report)
        for part in report.trial.blocks:
            yield from _figure(part) if isinstance(part, Finding) else (part,)
        yield Heading(2, wording.EXPLORATORY, "exploratory")
        yield Paragraph(wording.EXPLORED)
        yield from _main(report)
    else:
        yield from _main(report)
        yield from _contents(report)
    yield from _participants(report)
    yield from _results(report)
    yield from _compared(report)
    yield from _conduct(report)


def _main(report: Report) -> Iterator[Block]:
    """The main results in sentences."""
    found = [section for section in sections(report.results.findings) if section.main]
    if found:
        yield Heading(2, wording.MAIN)
        yield BulletList(tuple((f"{section.title}: {line}", "") for section in found for line in section.main))


def _contents(report: Report) -> Iterator[Block]:
    """The headings of the sections and their findings, with links."""
    found = tuple(sections(report.results.findings))
    entries = tuple(
        entry
        for section in found
        for entry in (
            Heading(1, section.title, section.anchor),
            *(Heading(2, finding.title, finding.name) for finding in section.findings),
        )
    )
    if report.trial:
        planned = (
            Heading(1, wording.CONFIRMATORY, "confirmatory"),
            Heading(1, wording.EXPLORATORY, "exploratory"),
        )
        entries = (*planned, *entries)
    if entries:
        yield Heading(2, wording.CONTENTS)
        yield Contents(entries)


def _participants(report: Report) -> Iterator[Block]:
    yield Heading(2, "Participants")
    sentences = []
    for stage in flow_stages(report):
        if stage.out:
            why = "; ".join(f"{reason}: {number:,}" for number, reason in stage.out.items)
            sentences.append(f"{stage.out.number:,} {stage.out.words}" + (f" ({why})" if why else ""))
        sentences.append(f"{stage.number:,} {stage.words}" + (f" ({stage.note})" if stage.note else ""))
    yield BulletList(tuple((one, "") for one in sentences))
    if report.arms:
        rows = (
            (a.factor, a.value, f"{a.arrived:,}", f"{a.complete:,}", wording.share(a.share), wording.share(a.target))
            for a in report.arms
        )
        head = ("Factor", "Value", "Started", "Completed", "Share", "Target")
        yield TextTable("Conditions against their targets", head, tuple(rows), 2)
        yield Paragraph(wording.ARMS)


def _results(report: Report) -> Iterator[Block]:
    if not report.results.findings:
        yield Heading(2, "Results")
        yield Paragraph("There is nothing to estimate yet.")
    method = ""
    for section in sections(report.results.findings):
        yield Heading(2, section.title, section.anchor)
        for finding in section.findings:
            yield from _figure(finding)
            yield Paragraph("Same method as above." if finding.method == method else finding.method)
            method = finding.method
            yield CodeLine(finding.code)


def _figure(finding: Finding) -> Iterator[Block]:
    """The tables of a finding; with few estimates, their sentences and names too."""
    yield Heading(3, finding.title, finding.name)
    table = grid(finding)
    yield from _grid(finding, table) if table else _table(finding)
    if finding.note:
        yield Paragraph(finding.note)
    if len(finding.estimates) > MANY:
        number = f"{len(finding.estimates):,}"
        yield Paragraph(f"The names of these {number} figures, and a sentence for each, are in the JSON report.")
    elif finding.estimates:
        yield BulletList(tuple((wording.sentence(finding, one), one.name) for one in finding.estimates))
    if (why := wording.reason(finding)) and finding.unit != COUNT:
        yield Paragraph(f"No interval: {why}")


def _table(finding: Finding) -> Iterator[Block]:
    head = ("Group", "Estimate", f"{finding.level} interval", f"n ({finding.counts})", "Participants")
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
        yield TextTable(finding.title, (*head, *([tested] if tested else [])), tuple(figures))


def _grid(finding: Finding, grid: Grid) -> Iterator[Block]:
    """The table in parts that fit the width of a page."""
    size = (f"n ({grid.counts})", "Participants") if grid.counts else ()
    cells = [[_cell(finding, one, sized=bool(size)) for one in row.cells] for row in grid.rows]
    longest = max(len(text) for row in cells for text in row)
    most = max(1, (WIDTH - sum(map(len, size))) // longest)
    parts = range(0, len(grid.heads), most)
    for number, first in enumerate(parts, start=1):
        heads = grid.heads[first : first + most]
        rows = (
            (
                row.label,
                *texts[first : first + most],
                *((f"{row.size[0]:,}", f"{row.size[1]:,}" if row.size[1] else "–") if row.size else ()),
            )
            for row, texts in zip(grid.rows, cells, strict=True)
        )
        which = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
        yield TextTable(
            f"{finding.title}{which}", ("Group", *(f"{head} (95 % interval)" for head in heads), *size), tuple(rows)
        )
    tests = [one.further for one in finding.estimates if "p" in one.further]
    if tests:
        yield Paragraph(STARS[1] if any("p_adjusted" in further for further in tests) else STARS[0])


def _cell(finding: Finding, estimate: Estimate | None, *, sized: bool) -> str:
    if estimate is None:
        return "–"
    stars = "*" * ((estimate.further.get("p", 1) < LEVEL_P) + (estimate.further.get("p_adjusted", 1) < LEVEL_P))
    interval = f" ({format_interval(estimate.low, estimate.high, finding.unit)})" if estimate.low is not None else ""
    return f"{format_value(estimate.value, finding.unit)}{stars}{interval}" + ("" if sized else f", n {estimate.n:,}")


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
            one.error_text,
            one.difference_text,
        )
        for one in report.compared
    )
    if report.compared:
        head = ("Figure", "Source", "Here", "Published", "Standard error", "Difference")
        yield TextTable(f"Comparison with {report.against.title}", head, tuple(rows), 2)
    yield Paragraph(report.comparison_summary)


def _conduct(report: Report) -> Iterator[Block]:
    if report.quality is not None:
        yield Heading(2, "Data quality")
        odd = tuple((what, f"{n:,}", f"{of:,}") for what, n, of in report.quality.issues(report.flow))
        if odd:
            yield TextTable("Data quality", ("Issue", "Count", "Of"), odd)
        yield Paragraph(wording.FLAGGED if odd else wording.UNTOLD)
    if report.costs is not None:
        yield Heading(2, "Cost")
        rows = tuple(
            (name, *(f"{n:,}" for n in (c.attempts, c.failed, c.prompt_tokens, c.completion_tokens)), money(c))
            for name, c in report.costs.by_model
        )
        if rows:
            head = ("Model", "Calls", "Failed", "Input tokens", "Output tokens", f"Cost ({report.costs.currency})")
            yield TextTable("Cost", head, rows)
        yield Paragraph(report.costs.note)
