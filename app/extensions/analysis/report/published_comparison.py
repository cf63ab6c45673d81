"""Compare a study's figures with those of a paper: `parley report mine --compare-with chatbench`.

A paper's figures have the same names as Parley's, so all figures that both have are compared. Models with other names
in the study are matched with `--match-model my-gpt=gpt-4o`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.errors import PublishedUnknown
from app.extensions.analysis.chatbench.accuracy import ALL
from app.extensions.analysis.chatbench.published import MODELS, PublishedFigure, figures
from app.extensions.analysis.estimates import POINTS, SHARE, Estimate, Finding, Unit, format_value, slug
from experiments.errors import suggestion

PAPERS: Mapping[str, str] = {"chatbench": "ChatBench (Chang, Anderson, Hofman: ACL 2025)"}


@dataclass(frozen=True, slots=True)
class PublishedPaper:
    """A paper to compare with: its figures, by Parley's stable names, and its models.

    `called` maps models of the study to models of the paper with another name.
    """

    name: str
    title: str
    figures: Mapping[str, PublishedFigure]
    models: tuple[str, ...] = ()
    called: Mapping[str, str] = field(default_factory=dict)

    def summary(self, comparisons: Sequence[FigureComparison], findings: Sequence[Finding]) -> str:
        """A summary in words: how many figures were compared, and which models."""
        stand = "".join(f" {mine} is compared with the paper's {theirs}." for mine, theirs in self.called.items())
        alone = self.alone(findings)
        theirs = f"; the paper's models are {' and '.join(self.models)} (--match-model MINE=THEIRS)" if alone else ""
        without = f" Models without a counterpart: {', '.join(alone)}{theirs}." if alone else ""
        return (
            f"{len(comparisons):,} of the {len(self.figures):,} published figures of {self.title} have a counterpart "
            f"in this study.{stand}{without} Whether the figures are comparable depends on the questions, models and "
            "participants of both."
        )

    def alone(self, findings: Sequence[Finding]) -> tuple[str, ...]:
        """The study's models without a counterpart in the paper."""
        known = {*map(slug, (*self.models, *self.called))}
        return tuple(model for model in self.of_study(findings) if slug(model) not in known)

    def of_study(self, findings: Sequence[Finding]) -> tuple[str, ...]:
        """The models in the study's figures of this analysis; `all models` if the figures are not by model."""
        own = (one for finding in findings if finding.name.startswith(f"{self.name}.") for one in finding.estimates)
        found = {one.groups[part] for one in own for part in ("model", "other") if part in one.groups}
        return tuple(sorted(found - {ALL})) or tuple(found)

    def check(self, findings: Sequence[Finding]) -> None:
        """Raise PublishedUnknown if `--match-model` names a model that the study does not have."""
        known = self.of_study(findings)
        for mine in self.called:
            if slug(mine) not in map(slug, known):
                raise PublishedUnknown(f"--match-model: the study has no model {mine!r}{suggestion(mine, known)}")


@dataclass(frozen=True, slots=True)
class FigureComparison:
    """A figure of a study beside the published one."""

    finding: Finding
    estimate: Estimate
    published: PublishedFigure

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.estimate.value - self.published.value

    @property
    def difference_text(self) -> str:
        """The formatted difference; for shares in percentage points."""
        return format_value(self.difference, self._apart)

    @property
    def error_text(self) -> str:
        """The formatted published standard error; for shares in percentage points."""
        return format_value(self.published.standard_error, self._apart)

    @property
    def _apart(self) -> Unit:
        return POINTS if self.finding.unit == SHARE else self.finding.unit

    @property
    def ends(self) -> tuple[float, float] | None:
        """One standard error below and above the published figure."""
        error = self.published.standard_error
        return None if error is None else (self.published.value - error, self.published.value + error)


def published_paper(name: str, called: Sequence[str] = ()) -> PublishedPaper:
    """The paper of this name, with its models matched to the study's by `MINE=THEIRS`; raises PublishedUnknown."""
    if name not in PAPERS:
        raise PublishedUnknown(f"there are no published figures named {name!r}{suggestion(name, PAPERS)}")
    matches = dict(_stands(one) for one in called)
    if len(matches) < len(called):
        raise PublishedUnknown(
            f"--match-model {' --match-model '.join(called)}: a model of the study matches only one model of the paper"
        )
    own = {published: [mine for mine in matches if matches[mine] == published] for published in MODELS}
    own = {published: mine or [published] for published, mine in own.items() if mine or published not in matches}
    return PublishedPaper(name, PAPERS[name], figures(own), MODELS, matches)


def _stands(text: str) -> tuple[str, str]:
    """A model of the study and the paper's that it stands for, which may be written as in names of figures."""
    mine, _, published = (part.strip() for part in text.rpartition("="))
    found = {slug(model): model for model in MODELS}.get(slug(published))
    if not mine or found is None:
        wrong = f"{published!r} is not a model of the paper" if mine else "it takes MINE=THEIRS"
        raise PublishedUnknown(f"--match-model {text}: {wrong}{suggestion(published, MODELS)}")
    return mine, found


def compare_with_published(findings: tuple[Finding, ...], paper: PublishedPaper | None) -> Iterator[FigureComparison]:
    """The figures that both have, in the order of the report."""
    figures = paper.figures if paper else {}
    for finding in findings:
        for one in finding.estimates:
            if one.name in figures:
                yield FigureComparison(finding, one, figures[one.name])
