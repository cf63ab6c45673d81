"""The parts of a report in their order: the main results, and a section for each schema with its findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from app.analysis.estimates import Estimate, Finding
from app.analysis.figure_names import matches
from app.analysis.report.wording import family

FEWEST = 10
"""A main result needs so many participants, or answers where models answered alone."""
TOO_FEW = f"Fewer than {FEWEST} participants so far: too few for a main result. All figures are below."
MOST = 8
"""The maximum number of sentences of a section's main results."""
SURVEYS = "survey"
MAIN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "chatbench": (
            "chatbench.mean_gap.free_text.all",
            "chatbench.mean_gap.letter_only_few_shot.all",
            "chatbench.model_gap.<model>.<other>.free_text",
            "chatbench.transition.corrected.all_models",
            "chatbench.transition.lost.all_models",
            "chatbench.correlation.free_text.<condition>",
            "chatbench.accuracy_by_condition.<condition>.<moment>",
        ),
        "mathconverse": (
            "mathconverse.pearson.helpfulness_correctness",
            "mathconverse.divergence.<cell>",
            "mathconverse.best_or_tied.<model>",
            "mathconverse.predicts_preference.<rating>",
        ),
        "dices": (
            "dices.alpha_nominal.Q_overall",
            "dices.answers.Yes",
            "dices.said_unsafe.<gold>",
            "dices.gold_agreement.all",
        ),
        "arena": ("arena.win_rate.<model>", "arena.ties.<kind>"),
        "instrument": ("instrument.mean.<instrument>.<score>",),
        "advice": ("advice.complementary.all", "advice.weight.all", "advice.overconfidence.<kind>"),
    }
)
"""The patterns of the main results' names, by the first part of a name, the most important first."""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """The findings of a schema, or of both editions of one; `main` are its main results in sentences."""

    title: str
    anchor: str
    findings: tuple[Finding, ...]
    main: tuple[str, ...]


def sections(findings: Sequence[Finding]) -> Iterator[ReportSection]:
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(family(finding.name), []).append(finding)
    for title, own in found.items():
        anchor = own[0].name.partition(".")[0]
        yield ReportSection(title, anchor, tuple(_titled(own)), tuple(_main(anchor.partition("-")[0], own)))


def _titled(findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings; those of two editions with the edition in their titles."""
    often = Counter(finding.title for finding in findings)
    for one in findings:
        edition = (
            f" ({one.name.partition('.')[0]})" if often[one.title] > 1 and "-" in one.name.partition(".")[0] else ""
        )
        yield replace(one, title=f"{one.title}{edition}")


def _main(schema: str, findings: Sequence[Finding]) -> Iterator[str]:
    """The sentences of the main results; of a section without declared ones, those of its first finding."""
    estimates = [one for finding in findings for one in finding.estimates]
    if schema == SURVEYS or not estimates:
        return
    large = [one for one in estimates if _is_large(one)]
    named = [one for pattern in MAIN.get(schema, ()) for one in large if matches(one.name, pattern)]
    first = next(finding.estimates for finding in findings if finding.estimates)
    shown = named or [one for one in first if _is_large(one)]
    yield from [one.sentence for one in shown[:MOST]] or [TOO_FEW]


def _is_large(one: Estimate) -> bool:
    return (one.participants or one.n) >= FEWEST
