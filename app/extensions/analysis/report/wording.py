"""Texts shared by all formats of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from app.extensions.analysis.estimates import COUNT, Estimate, Finding
from app.extensions.analysis.reads.study_data import UNDER_WAY, ParticipantFlow
from storage.registers.origins import REHEARSAL, Origin

WHOSE: Mapping[str, str] = {
    Origin.PERSON: "participants",
    Origin.PILOT: "pilot sessions",
    Origin.REHEARSAL: "rehearsed participants",
    Origin.BOT: "simulated participants",
    Origin.IMPORT: "an imported release",
}
WARNINGS: Mapping[str, str] = {
    Origin.BOT: "Simulated data. No person took part: do not report these results as human data.",
    Origin.PILOT: "Pilot data. They were collected to test the study: do not report them as its results.",
    Origin.REHEARSAL: REHEARSAL,
}
ENDED: Mapping[str, str] = {
    "complete": "completed the study",
    "no_consent": "did not consent",
    "screened_out": "were screened out",
    "failed_attention": "failed the attention checks",
    "timed_out": "ran out of time",
    "technical_failure": "ended for technical reasons",
    "off_protocol": "were stopped because a reply broke a rule of the study",
    "withdrawn": "withdrew, and their data were erased",
    UNDER_WAY: "are in progress, or stopped without finishing",
}
# The section titles, by the first part of a figure's name.
FAMILIES: Mapping[str, str] = {
    "chatbench": "ChatBench",
    "mathconverse": "MathConverse",
    "taxonomy": "CheckMate's queries",
    "dices": "DICES",
    "arena": "Chatbot Arena",
    "accuracy": "Accuracy of the arms",
    "instrument": "Instruments",
    "advice": "Advice and confidence",
    "survey": "Survey questions",
    "fidelity": "Fidelity of the arms",
    "position": "Order of options",
    "waves": "Waves",
}


def reason(finding: Finding) -> str:
    """The common reason why several estimates of a finding have no interval; empty if there is no common one."""
    reasons = [one.why for one in finding.estimates if one.why]
    return reasons[0] if len(reasons) > 1 and len(set(reasons)) == 1 else ""


def sentence(finding: Finding, estimate: Estimate) -> str:
    """An estimate's sentence, with the reason for a missing interval unless `reason` gives it; counts need none."""
    known = not estimate.why or finding.unit == COUNT or estimate.why == reason(finding)
    return estimate.sentence if known else f"{estimate.sentence} No interval: {estimate.why}"


def tested(finding: Finding) -> str:
    """The heading of the column p; empty without tests."""
    further = {name for one in finding.estimates for name in one.further}
    side = "one-sided " if any(one.further.get("sides") == 1 for one in finding.estimates) else ""
    return "" if "p" not in further else f"{side}p (adjusted)" if "p_adjusted" in further else f"{side}p"


def when(at_us: int) -> str:
    """A time, UTC: 2026-11-21 14:03 UTC."""
    return f"{datetime.fromtimestamp(at_us / 1e6, UTC):%Y-%m-%d %H:%M} UTC"


def family(name: str) -> str:
    """The section of a finding, by its name: `dices-990.alpha_nominal` is DICES's."""
    first = name.partition(".")[0].partition("-")[0]
    return FAMILIES.get(first, first)


def ended(flow: ParticipantFlow) -> Iterator[tuple[str, str, int]]:
    """The outcomes that occurred, in a fixed order: each with its text and its number of sessions."""
    known = [name for name in ENDED if name in flow.outcomes]
    for name in (*known, *sorted(flow.outcomes.keys() - ENDED.keys())):
        yield name, ENDED.get(name, name.replace("_", " ")), flow.outcomes[name]


def share(part: float | None) -> str:
    return "–" if part is None else f"{100 * part:.0f} %"
