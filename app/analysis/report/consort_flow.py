"""The CONSORT flow diagram: how many participants started (by condition), left, and were analysed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.analysis.report.build import FactorArm, Report
from app.analysis.report.wording import ended
from storage.log.seats import COMPLETE
from storage.registers.origins import Origin

FEW_ARMS = 4
"""The flow shows the values of a factor that has at most this many."""
NOBODY = "its rows belong to no participant"
ANALYSED = "not excluded, and at least one answer, rating or vote"


@dataclass(frozen=True, slots=True)
class FlowExit:
    """The participants who left at a stage, by reason."""

    number: int
    words: str
    items: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class FlowStage:
    """The number of participants who reached a stage, those who left before it, and its conditions."""

    number: int
    words: str
    note: str = ""
    out: FlowExit | None = None
    arms: tuple[FactorArm, ...] = ()


def flow_stages(report: Report) -> Iterator[FlowStage]:
    """The stages of the flow, from first to last. An imported release has only the stages that are known."""
    people, analysed = report.flow, report.results.analysed
    if report.origin == Origin.IMPORT:
        yield from _released(report)
        return
    yield FlowStage(people.arrived, "started", arms=_allocated(report))
    others = tuple((number, words) for kind, words, number in ended(people) if kind != COMPLETE)
    left = sum(number for number, _ in others)
    complete = people.outcomes.get(COMPLETE, 0)
    yield FlowStage(complete, "completed the study", out=FlowExit(left, "did not complete it", others))
    if report.unfinished:
        reasons = tuple((number, why) for why, number in people.excluded.items())
        out = FlowExit(report.excluded, "excluded by a researcher", reasons)
        yield FlowStage(analysed, "analysed", f"{ANALYSED}; includes sessions that were not completed", out)
    else:
        yield FlowStage(analysed, "analysed", ANALYSED, _left_out(people.excluded_complete, complete - analysed))


def _released(report: Report) -> Iterator[FlowStage]:
    people, analysed = report.flow, report.results.analysed
    yield FlowStage(people.arrived, "in the release", "" if people.arrived else NOBODY)
    others = tuple((number, part) for part, number in people.elsewhere.items())
    elsewhere = sum(people.elsewhere.values())
    if others:
        other = FlowExit(elsewhere, "in other parts of the release only", others)
        yield FlowStage(people.arrived - elsewhere, f"in {people.part}", out=other)
    yield FlowStage(analysed, "analysed", ANALYSED, _left_out(people.excluded, people.arrived - elsewhere - analysed))


def _left_out(excluded: Mapping[str, int], number: int) -> FlowExit | None:
    """So many participants who are not analysed, by the reasons of those who were excluded."""
    reasons = [(count, why) for why, count in excluded.items() if count]
    silent = number - sum(excluded.values())
    reasons += [(silent, "no answer, rating or vote")] if silent > 0 else []
    return FlowExit(sum(count for count, _ in reasons), "left out", tuple(reasons)) if reasons else None


def _allocated(report: Report) -> tuple[FactorArm, ...]:
    """The values of `condition` if it has at most FEW_ARMS of them, else of the first factor that does."""
    factors: dict[str, list[FactorArm]] = {}
    for arm in report.arms:
        factors.setdefault(arm.factor, []).append(arm)
    few = [name for name, arms in factors.items() if 1 < len(arms) <= FEW_ARMS]
    first = "condition" if "condition" in few else next(iter(few), None)
    return tuple(factors[first]) if first else ()
