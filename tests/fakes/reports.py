"""Reports made up: of groups whose names try to be more than text, with and without a paper to compare with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from app.extensions.analysis.chatbench.published import PublishedPaper
from app.extensions.analysis.estimates import Estimate, Finding, Scatter, ScatterPoint, Unit, estimate
from app.extensions.analysis.intervals import Interval
from app.extensions.analysis.reads.study_data import ParticipantFlow
from app.extensions.analysis.report import FactorArm, Report, VersionUsed
from app.extensions.analysis.results import Results

NASTY = (
    '=HYPERLINK("x")<script>alert(1)</script>|`a`\\input{/etc/passwd}%$_#&~^{}[b](javascript:c)\n# d\n\\end{longtable}'
)
DATASETS, MODELS = ("physics", "moral"), ("one", "two")
ANSWERS = ("zero_shot", "user-alone", "user-AI")


def figure(name: str, label: str, interval: Interval, unit: Unit = "share", **groups: str) -> Estimate:
    """An estimate of 1,200 answers of 30 participants."""
    return estimate(name, label, groups, (1200, 30), interval, f"{label} had {{}}", unit, "answers")


def accuracy() -> Finding:
    cells = [(d, m, a) for d in DATASETS for m in MODELS for a in ANSWERS]
    found = (
        figure(f"chatbench.accuracy.{d}.{m}.{a}", f"{d}, {m}: {a}", Interval(0.5, 0.4, 0.6), dataset=d, model=m,
               answer_type=a)
        for d, m, a in cells
    )  # fmt: skip
    return finding("chatbench.accuracy", found)


def by_turn() -> Finding:
    found = (
        figure(f"mathconverse.by_turn.helpfulness.{n}", f"turn {n}", Interval(4, 3, 5), "number") for n in (1, 2, 3)
    )
    return finding("mathconverse.by_turn", found, "number", (0, 6))


def crossed(columns: Iterable[str] = MODELS) -> Finding:
    names = tuple(columns)
    found = (
        figure(f"taxonomy.by_model.{n}.{label}", f"{name}: {label}", Interval(0.5, 0.4, 0.6), kind=label, model=name)
        for n, name in enumerate(names)
        for label in ("definition", "reason")
    )
    points = tuple(ScatterPoint(n / 10, 0.5, n + 1, name, name, name) for n, name in enumerate(names))
    scatter = Scatter("correctness", "helpfulness", (0, 1), points)
    return replace(finding("taxonomy.by_model", found), columns=("model",), scatter=scatter)


def finding(
    name: str, estimates: Iterable[Estimate], unit: Unit = "share", axis: tuple[float, float] = (0, 1)
) -> Finding:
    return Finding(name, f"The title of {name}", "answers", unit, axis, tuple(estimates), "By hand.", "code()")


def hostile() -> Finding:
    return finding("arena.win_rate", [figure("arena.win_rate.x", NASTY, Interval(1 / 3, 0.25, 0.5), model=NASTY)])


def report(*findings: Finding, origin: str = "person", paper: PublishedPaper | None = None) -> Report:
    """A report of these findings, with something of everything else; whoever named the study had bad intentions."""
    return Report(
        "mine", NASTY, origin, (VersionUsed(2, "ab" * 32),),
        ParticipantFlow(origin, 9, "", {}, {"complete": 6, "no_consent": 1, "": 2}, {NASTY: 1}),
        (FactorArm("condition", NASTY, 5, 4, 0.8, 0.5), FactorArm("condition", "b", 4, 2, 0.2, 0.5)),
        Results("mine", origin, ("chatbench",), 5, findings), 1_800_000_000_000_000, "9.9", paper,
    )  # fmt: skip
