"""The words that every form of a report has in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from storage.origins import PILOT
from storage.reading import UNDER_WAY, Flow
from storage.recorded import ORIGIN as IMPORT
from storage.simulated import BOT

WHOSE: Mapping[str, str] = MappingProxyType(
    {"person": "people", PILOT: "pilot sessions", BOT: "simulated participants", IMPORT: "an imported release"}
)
WARNINGS: Mapping[str, str] = MappingProxyType(
    {
        BOT: "Simulated data. No person took part in this: do not report it as what people did.",
        PILOT: "Pilot data. The study was only tried out: do not report it as the study's.",
    }
)
ENDED: Mapping[str, str] = MappingProxyType(
    {
        "complete": "completed the study",
        "no_consent": "did not consent",
        "screened_out": "were screened out",
        "failed_attention": "failed the attention checks",
        "timed_out": "ran out of time",
        "technical_failure": "ended for technical reasons",
        "withdrawn": "withdrew, and their data were erased",
        UNDER_WAY: "are under way, or left without ending",
    }
)
FAMILIES: Mapping[str, str] = MappingProxyType(
    {"chatbench": "ChatBench", "mathconverse": "MathConverse", "dices": "DICES", "arena": "Chatbot Arena"}
)
"""What the first word of a figure's name stands for."""
ARMS = "Completed: without those whom a researcher excluded. Targets are those of the newest version."
FLAGGED = "A flag is a reason to look, not a verdict. Nobody is left out for it, only whom a researcher excluded."


def when(at_us: int) -> str:
    """A time, UTC: 2026-11-21 14:03 UTC."""
    return f"{datetime.fromtimestamp(at_us / 1e6, UTC):%Y-%m-%d %H:%M} UTC"


def family(name: str) -> str:
    """The section of a finding, by its name: `dices-990.alpha_nominal` is DICES's."""
    first = name.partition(".")[0].partition("-")[0]
    return FAMILIES.get(first, first)


def ended(people: Flow) -> Iterator[tuple[str, str, int]]:
    """The outcomes of sessions, each in words and how many had it, in a fixed order; only what occurred."""
    known = [name for name in ENDED if name in people.outcomes]
    for name in (*known, *sorted(people.outcomes.keys() - ENDED.keys())):
        yield name, ENDED.get(name, name.replace("_", " ")), people.outcomes[name]


def share(part: float | None) -> str:
    """A share of 1 in whole per cents."""
    return "–" if part is None else f"{100 * part:.0f} %"
