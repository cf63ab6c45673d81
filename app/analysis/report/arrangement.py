"""The parts of a report in their order: the main results, and sections of topics, by the outlines of the schemas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.analysis.estimates import Estimate, Finding, format_interval, format_value
from app.analysis.figure_names import matches, plain
from app.analysis.outline import EVERY, Contrast, Figure, Line, Outline
from app.analysis.report.wording import family
from app.analysis.results import OUTLINES

FEWEST = 10
"""A main result needs so many participants, or answers where models answered alone."""
TOO_FEW = f"Fewer than {FEWEST} participants so far: too few for a main result. All figures are below."
MOST = 6
"""The maximum number of sentences of findings without a declared main result."""


@dataclass(frozen=True, slots=True)
class MainResult:
    """A main result in sentences; `anchor` names the finding that has the details."""

    title: str
    anchor: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """Findings that are shown together, each with the heading of its column."""

    title: str
    findings: tuple[Finding, ...]
    heads: tuple[str, ...]
    folded: bool

    @property
    def anchor(self) -> str:
        """The name by which links reach it."""
        return self.findings[0].name


@dataclass(frozen=True, slots=True)
class ReportTopic:
    """Figures about one subject."""

    title: str
    figures: tuple[ReportFigure, ...]

    @property
    def anchor(self) -> str:
        """The name by which links reach it."""
        return f"topic.{self.figures[0].anchor}"


@dataclass(frozen=True, slots=True)
class ReportSection:
    """The topics of a schema, or of both editions of one."""

    title: str
    anchor: str
    topics: tuple[ReportTopic, ...]


def main_results(findings: Sequence[Finding]) -> Iterator[MainResult]:
    """The main results of each section; without any, the sentences of its first finding. A section whose outline has no
    contrasts has none."""
    for own in _by_family(finding for finding in findings if finding.estimates):
        outline = _outline(own[0].name)
        if outline and not outline.contrasts:
            continue
        large = [replace(finding, estimates=tuple(filter(_is_large, finding.estimates))) for finding in own]
        found = [one for contrast in outline.contrasts for one in _contrast(contrast, large)] if outline else []
        first = large[0]
        if found:
            yield from found
        elif lines := tuple(one.sentence for one in first.estimates[:MOST]):
            yield MainResult(first.title, first.name, lines)
        else:
            yield MainResult(family(first.name), first.name, (TOO_FEW,))


def _is_large(one: Estimate) -> bool:
    return (one.participants or one.n) >= FEWEST


def sections(findings: Sequence[Finding]) -> Iterator[ReportSection]:
    """All findings, each once, by section, topic and figure."""
    for own in _by_family(findings):
        outline = _outline(own[0].name)
        topics = tuple(_topics(outline or Outline((), ()), own))
        yield ReportSection(family(own[0].name), own[0].name.partition(".")[0], topics)


def _by_family(findings: Sequence[Finding] | Iterator[Finding]) -> Iterator[tuple[Finding, ...]]:
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(family(finding.name), []).append(finding)
    yield from map(tuple, found.values())


def _outline(name: str) -> Outline | None:
    first = plain(name).partition(".")[0]
    return next((outline for schema, outline in OUTLINES.items() if schema.partition("-")[0] == first), None)


def _contrast(contrast: Contrast, findings: Sequence[Finding]) -> Iterator[MainResult]:
    """The first alternative that has an estimate."""
    for alternative in contrast.alternatives:
        found = [(line, fitting) for line in alternative if (fitting := _fitting(line, findings))]
        if found:
            lines = tuple(text for line, fitting in found for text in _lines(line, fitting))
            yield MainResult(contrast.title, found[0][1][0][0].name, lines)
            return


def _fitting(line: Line, findings: Sequence[Finding]) -> Sequence[tuple[Finding, Estimate]]:
    """The estimates of a line; lists of groups do without that of all groups together."""
    found = [
        (finding, one)
        for finding in findings
        for one in finding.estimates
        if matches(one.name, line.pattern) and not (line.lead and set(EVERY) & set(one.groups.values()))
    ]
    if line.largest is None:
        return found
    return sorted(found, key=lambda pair: -pair[1].value)[: line.largest]


def _lines(line: Line, fitting: Sequence[tuple[Finding, Estimate]]) -> Iterator[str]:
    """One line for several estimates if they have a lead, each edition of a schema for itself; otherwise sentences."""
    editions: dict[str, list[tuple[Finding, Estimate]]] = {}
    for finding, one in fitting:
        editions.setdefault(finding.name.partition(".")[0], []).append((finding, one))
    for edition, some in editions.items():
        which = f" ({edition})" if len(editions) > 1 else ""
        if line.lead and len(some) > 1:
            yield f"{line.lead}{which}: {'; '.join(_brief(*one) for one in some)} ({_sizes(some)})."
        else:
            yield from (one.sentence + which for _, one in some)


def _brief(finding: Finding, one: Estimate) -> str:
    interval = f" ({format_interval(one.low, one.high, finding.unit)})" if one.low is not None else ""
    return f"{one.label} {format_value(one.value, finding.unit)}{interval}"


def _sizes(some: Sequence[tuple[Finding, Estimate]]) -> str:
    """The numbers of answers of several estimates: `n = 12 ratings`, `n = 12 to 40 ratings`."""
    least, most = (found(one.n for _, one in some) for found in (min, max))
    return f"n = {least:,}{f' to {most:,}' if most > least else ''} {some[0][0].counts}"


def _topics(outline: Outline, findings: Sequence[Finding]) -> Iterator[ReportTopic]:
    rest = list(findings)
    for topic in outline.topics:
        figures = tuple(one for figure in topic.figures for one in _figures(figure, findings))
        rest = [finding for finding in rest if not any(finding in figure.findings for figure in figures)]
        if figures:
            yield ReportTopic(topic.title, figures)
    if rest:
        yield ReportTopic(outline.rest, tuple(ReportFigure(one.title, (one,), ("",), False) for one in rest))


def _figures(figure: Figure, findings: Sequence[Finding]) -> Iterator[ReportFigure]:
    """The figure of each edition that has findings of it."""
    editions: dict[str, list[tuple[str, Finding]]] = {}
    for name, head in figure.findings.items():
        for finding in findings:
            if plain(finding.name) == name:
                editions.setdefault(finding.name.partition(".")[0], []).append((head, finding))
    for edition, some in editions.items():
        heads, own = zip(*some, strict=True)
        which = f" ({edition})" if len(editions) > 1 else ""
        title = own[0].title if len(own) == 1 else f"{figure.title}{which}"
        yield ReportFigure(title, own, heads, figure.folded)
