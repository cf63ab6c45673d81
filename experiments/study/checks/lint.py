"""Warnings about valid studies before they are published: the consent form, recruiters' requirements, ids in links.

Of recruiters' requirements, only Prolific's are checked: attention checks, comprehension checks, consent, and a
completion code for each outcome.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from experiments.plural import count
from experiments.study.checks.option_order_check import order_advice
from experiments.study.checks.sections_check import embed_advice, fidelity_advice, reminder_advice
from experiments.study.schema import Loop, Node, Phase
from experiments.study.step import Step
from experiments.study.study import Study
from problems.pictures import described, has_metadata

KNOWN_TO_OTHERS = ("prolific", "connect", "sona", "panel")
# From this length on Prolific accepts a rejection for want of attention only after two failed checks.
LONG_MINUTES = 5
# What Prolific requires for each outcome, and the action to choose there for its code.
ASKS: Mapping[str, str] = {
    "complete": "participants who complete the study are paid by a code (action: approve)",
    "no_consent": "participants who do not agree are asked to return, by a separate code (action: request return)",
    "screened_out": "participants screened out have a separate code and are not rejected (action: screen out)",
    "failed_attention": "participants who fail attention checks have a separate code (action: manual review)",
    "timed_out": "participants who run out of time have a separate code (action: manual review)",
    "technical_failure": "participants stopped by a technical failure have a separate code (action: manual review)",
    "off_protocol": "participants stopped by a rule of `fidelity` have a separate code (action: manual review)",
    "withdrawn": "participants who withdraw are found by their code alone (action: request return), as IDs are erased",
}


OFTEN = 100
# By which somebody can be reached: by mail, the web or telephone.
REACHABLE = re.compile(r"\S@\S|https?://|\d[\d ()/.-]{4,}")


@dataclass(frozen=True, slots=True)
class _At:
    where: str
    step: Step
    late: bool


def advice(study: Study, minutes: float | None) -> list[str]:
    """All warnings, a sentence or two each; `minutes` is the study's usual duration, if known."""
    steps = [at for where, nodes in study.flows.items() for at in _steps(nodes, where, late=False)]
    found = [
        *_unproven(study),
        *_unidentified(study),
        *_unreachable(study),
        *_capped(study),
        *_unseen(study),
        *_revealing(study),
        *embed_advice(study),
        *fidelity_advice(study),
        *reminder_advice(study),
        *order_advice(study),
        *_consent(study),
    ]
    if "prolific" in study.file.recruitment.channels:
        codes = dict(_codes(study, steps))
        found += [*_checks(steps, minutes), *_without(codes), *_shared(study, codes)]
    return found


def _unseen(study: Study) -> Iterator[str]:
    """Pictures that models would have to see."""
    pictures = study.pictures
    shown = [
        problem
        for pool in study.pools.values()
        for problem in pool
        if any(described(text, pictures) != text for text in (problem.text, *(one.text for one in problem.options)))
    ]
    if shown and study.file.models:
        many = count(len(shown), "problem has a picture", "problems have pictures")
        yield (
            f"problems: {many} ({shown[0].id!r} is the first). No model sees a picture, in a chat or when it answers "
            "alone (`parley ai-alone`): it reads the alternative text. Write there what a model has to know."
        )


def _revealing(study: Study) -> Iterator[str]:
    """Pictures whose files say more than they show."""
    for name, picture in study.pictures.by_key.items():
        content = study.picture_files.get(picture.sha256)
        if content is not None and has_metadata(content):
            yield (
                f"{name[:60]!r} has EXIF data, such as the place of a photo, which participants load with it. Remove "
                "it, for example with: exiftool -all= FILE"
            )


def _unproven(study: Study) -> Iterator[str]:
    """A rule for repeat participation needs to recognize participants."""
    wanted = study.file.recruitment
    known_to_others = [name for name in KNOWN_TO_OTHERS if not wanted.channels or name in wanted.channels]
    if wanted.repeat_participation != "resume" and wanted.id_proof == "optional" and known_to_others:
        yield (
            f"recruitment.repeat_participation: {wanted.repeat_participation} needs a proof or the browser's cookie to "
            f"recognize participants. An id in a link of {' or '.join(known_to_others)} is no proof: in another "
            "browser it starts a new session. Use signed links (`parley recruit links --ids`; at Prolific, secure "
            "external URLs) and write `id_proof: required`, or use the flag same_id."
        )


def _unidentified(study: Study) -> Iterator[str]:
    wanted = study.file.recruitment
    if study.file.bonus and ("open" in wanted.channels or (not wanted.channels and wanted.id_proof == "optional")):
        yield (
            "bonus: a bonus is paid by the recruiter's ID, and this study also starts from links without one. Name its "
            "recruiters in recruitment.channels (without `open`): other links then lead to a page with the reason."
        )


def _unreachable(study: Study) -> Iterator[str]:
    contact = study.file.contact
    if contact and not REACHABLE.search(contact):
        yield f"contact: {contact[:60]!r} has no address. Add one for participants’ questions: mail, web or telephone."


def _capped(study: Study) -> Iterator[str]:
    for number, bonus in enumerate(study.file.bonus):
        if bonus.max is not None and bonus.max < bonus.amount:
            yield (
                f"bonus[{number}].max: {bonus.max} is below the amount of {bonus.amount}, so nobody gets that amount. "
                "Raise the most, or lower the amount."
            )


def _steps(nodes: Sequence[Node], where: str, *, late: bool) -> Iterator[_At]:
    for number, node in enumerate(nodes):
        at = f"{where}[{number}]"
        if isinstance(node, Phase | Loop):
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
                f"{at.where}: Prolific requires comprehension checks at the start of a study. Move {at.step.id!r} "
                "before the first phase and the first loop."
            )
        once = getattr(at.step, "after_failures", 0) == 1 and "failed_attention" in at.step.outcome_codes()
        if kind == "attention" and once and (minutes is None or minutes >= LONG_MINUTES):
            yield (
                f"{at.where}: {at.step.id!r} ends the session at the first failed attention check. In a study of "
                f"{LONG_MINUTES} minutes or more{takes} Prolific requires at least two failed ones before a rejection. "
                "Write `after_failures: 2`, and have two checks or more."
            )


def _consent(study: Study) -> Iterator[str]:
    """A warning if no consent form comes before the first reply of a model."""
    forms = [number for number, (_, step) in enumerate(study.steps) if step.step == "consent"]
    if not forms:
        yield (
            "flow: there is no consent form, so it is not recorded that participants agree; Prolific requires that "
            "before anything else. Start the flow with `{step: consent, text: ...}`."
        )
    for path, step in study.steps[: forms[0]] if forms else ():
        if step.asks_models(tuple(study.file.models)):
            yield f"{path}: a model replies before the consent form. Move the form before {step.id!r}."


def possible_codes(study: Study) -> dict[str, frozenset[str]]:
    """The outcomes that sessions of the study can have, each with its codes; an empty one where there may be none."""
    return dict(_codes(study, list(_steps(study.flow, "flow", late=False))))


def _codes(study: Study, steps: Sequence[_At]) -> Iterator[tuple[str, frozenset[str]]]:
    found: dict[str, set[str]] = {}
    for at in steps:
        for outcome, code in at.step.outcome_codes().items():
            found.setdefault(outcome, set()).add(code)
    found["withdrawn"] = {""}  # everybody can withdraw, whatever the flow
    if any(rule.then == "end" for rule in study.file.fidelity or ()):
        found["off_protocol"] = {""}
    if _can_time_out(study, steps):
        found["timed_out"] = {""}
    for outcome, own in found.items():
        given = study.file.outcomes.get(outcome)  # type: ignore[call-overload]
        yield outcome, frozenset({given.code} if given and given.code else own)


def _can_time_out(study: Study, steps: Sequence[_At]) -> bool:
    times, limits = study.file.session_limits, [(at, limit) for at in steps if (limit := at.step.time_limit)]
    if times.time_limit_s or times.away_after_s or any(limit.on_expiry == "end" for _, limit in limits):
        return True
    screens = sum(OFTEN if "flow" in at.where.split("flow[", 1)[1] else 1 for at, _ in limits)
    return times.end_after_unattended is not None and screens >= times.end_after_unattended


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
                f"outcomes: {' and '.join(who)} have the same code, {code!r}, so Prolific cannot distinguish them. "
                "Give each outcome a different code."
            )
