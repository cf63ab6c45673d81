"""What is no fault of a study, and yet worth a look before it is published: what recruiters demand, and what an id in
a link cannot do.

Of recruiters so far Prolific's rules: attention checks, comprehension checks, consent, and a completion code for each
outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.study.schema import Each, Node, Phase
from experiments.study.step import Step

if TYPE_CHECKING:
    from experiments.study.resolve import Study

KNOWN_TO_OTHERS = ("prolific", "connect", "sona", "panel")
"""Recruiters whose ids others know, or can count to."""
LONG_MINUTES = 5
"""From this length on Prolific accepts a rejection for want of attention only after two failed checks."""
ASKS: Mapping[str, str] = {
    "complete": "whoever completes the study is paid by a code (its action there: approve)",
    "no_consent": "whoever does not agree is asked to return, by a code of its own (its action there: request return)",
    "screened_out": "whoever is screened out has a code of its own and is not rejected (its action there: screen out)",
    "failed_attention": "whoever fails attention checks has a code of its own (its action there: manual review)",
    "timed_out": "whoever runs out of time has a code of its own (its action there: manual review)",
    "technical_failure": "whoever is stopped by a failure has a code of its own (its action there: manual review)",
}
"""What Prolific asks for each outcome, and the action to choose there for its code."""


@dataclass(frozen=True, slots=True)
class _At:
    """A step, where it stands, and whether something has begun before it: a phase, or a loop."""

    where: str
    step: Step
    late: bool


def advice(study: Study, minutes: float | None) -> list[str]:
    """What is worth a look, a sentence or two each; `minutes` is how long the study usually takes, if that is known."""
    found = [*_unproven(study)]
    if "prolific" in study.file.recruitment.channels:
        steps = list(_steps(study.flow, "flow", late=False))
        codes = dict(_codes(study, steps))
        found += [*_checks(steps, minutes), *_consent(steps), *_without(codes), *_shared(study, codes)]
    return found


def _unproven(study: Study) -> Iterator[str]:
    """A rule about who comes again needs to know who comes."""
    wanted = study.file.recruitment
    known_to_others = [name for name in KNOWN_TO_OTHERS if not wanted.channels or name in wanted.channels]
    if wanted.repeat_participation != "resume" and wanted.id_proof == "optional" and known_to_others:
        yield (
            f"recruitment.repeat_participation: {wanted.repeat_participation} holds for whom a proof or their browser "
            f"knows, and an id in a link of {' or '.join(known_to_others)} proves nothing: whoever comes by it in "
            "another browser begins a session. "
            "Give people signed links (`parley links --ids`; at Prolific, secure external URLs) and write "
            "`id_proof: required`, or go by the flag same_id."
        )


def _steps(nodes: Sequence[Node], where: str, *, late: bool) -> Iterator[_At]:
    for number, node in enumerate(nodes):
        at = f"{where}[{number}]"
        if isinstance(node, Phase | Each):
            late = True
            yield from _steps(node.flow, f"{at}.flow", late=True)
        else:
            yield _At(at, node, late)


def _checks(steps: Sequence[_At], minutes: float | None) -> Iterator[str]:
    takes = f" (this one takes about {minutes:.0f})" if minutes is not None else ""
    for at in steps:
        kind = getattr(at.step, "kind", "") if at.step.step == "check" else ""
        if kind == "comprehension" and at.late:
            yield (
                f"{at.where}: Prolific wants comprehension checks at the start of a study. Put {at.step.id!r} before "
                "the first phase and the first loop."
            )
        once = getattr(at.step, "after_failures", 0) == 1 and "failed_attention" in at.step.ends()
        if kind == "attention" and once and (minutes is None or minutes >= LONG_MINUTES):
            yield (
                f"{at.where}: {at.step.id!r} ends the session at the first failed attention check. In a study of "
                f"{LONG_MINUTES} minutes or more{takes} Prolific asks for two failed ones at least before somebody is "
                "rejected. Write `after_failures: 2`, and have two checks or more."
            )


def _consent(steps: Sequence[_At]) -> Iterator[str]:
    if not any(at.step.step == "consent" for at in steps):
        yield (
            "flow: Prolific wants consent to be asked and recorded before anything else. Let the flow begin with "
            "`{step: consent, text: ...}`."
        )


def _codes(study: Study, steps: Sequence[_At]) -> Iterator[tuple[str, frozenset[str]]]:
    """The outcomes that sessions of the study can have, each with its codes; an empty one where there may be none."""
    found: dict[str, set[str]] = {}
    for at in steps:
        for outcome, code in at.step.ends().items():
            found.setdefault(outcome, set()).add(code)
    times, limits = study.file.session_limits, [at.step.time_limit for at in steps]
    if times.time_limit_s or times.away_after_s or any(limit and limit.on_expiry == "end" for limit in limits):
        found["timed_out"] = {""}
    for outcome, own in found.items():
        given = study.file.outcomes.get(outcome)  # type: ignore[call-overload]
        yield outcome, frozenset({given.code} if given and given.code else own)


def _without(codes: Mapping[str, frozenset[str]]) -> Iterator[str]:
    for outcome in (outcome for outcome in ASKS if "" in codes.get(outcome, ())):
        yield (
            f"outcomes.{outcome}: has no code. At Prolific, {ASKS[outcome]}. Write "
            f"`outcomes: {{{outcome}: {{code: ...}}}}`."
        )


def _shared(study: Study, codes: Mapping[str, frozenset[str]]) -> Iterator[str]:
    every = {str(outcome): frozenset({last.code}) for outcome, last in study.file.outcomes.items()} | dict(codes)
    for code in sorted({code for found in every.values() for code in found if code}):
        who = [outcome for outcome, found in every.items() if code in found]
        if len(who) > 1:
            yield (
                f"outcomes: {' and '.join(who)} have one code, {code!r}, so Prolific cannot tell them apart; there "
                "codes must differ. Give each outcome a code of its own."
            )
