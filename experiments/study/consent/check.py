"""Which elements a study's consent form contains, in each of its languages, and whether it comes before the first chat.

The form is what every participant has read when they agree: the consent step, and the steps without a condition before
it. That an AI replies may also be said between the form and the first chat.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from experiments.study.consent.elements import ELEMENTS, WORDINGS, Element, ElementName, normalized
from experiments.study.schema import Loop, Node, Phase
from experiments.study.step import Step
from experiments.study.study import Study

CONSENT = "consent"
_SENTENCE = re.compile(r"(?<=[.!?؟])\s+|\n\s*(?:[-*]|\d+\.)\s|\n\s*\n")


@dataclass(frozen=True, slots=True)
class PlacedStep:
    """A step with its place in the study file, and whether every participant takes it."""

    where: str
    step: Step
    everybody: bool


@dataclass(frozen=True, slots=True)
class ElementFinding:
    """Whether a form contains an element in a language. `passage` is the sentence that was found, or quoted in the
    study (`covers`). `unknown`: there are no patterns for the language."""

    where: str
    language: str
    element: Element
    status: Literal["found", "quoted", "missing", "unknown"]
    passage: str = ""


def placed_steps(nodes: Sequence[Node], where: str = "flow", *, everybody: bool = True) -> Iterator[PlacedStep]:
    """Every step, in the order of the file."""
    for number, node in enumerate(nodes):
        at, always = f"{where}[{number}]", everybody and node.when is None
        if isinstance(node, Phase | Loop):
            yield from placed_steps(node.flow, f"{at}.flow", everybody=always)
        else:
            yield PlacedStep(at, node, always)


def replies(study: Study, step: Step) -> bool:
    """Whether a model replies in a step."""
    return bool(step.asks_models(tuple(study.file.models)))


def consent_findings(study: Study) -> tuple[ElementFinding, ...]:
    """Each element in each consent form and language; none in a study without a consent form."""
    steps = tuple(placed_steps(study.flow))
    first = next((number for number, placed in enumerate(steps) if replies(study, placed.step)), None)
    found: list[ElementFinding] = []
    for number, placed in enumerate(steps):
        if placed.step.step != CONSENT:
            continue
        read = [*(one.step for one in steps[:number] if one.everybody), placed.step]
        between = [one.step for one in steps[number + 1 : first] if one.everybody] if first is not None else []
        for language in study.file.offered:
            for element in ELEMENTS:
                if element.name == "ai" and first is None:
                    continue
                texts = _texts([*read, *between] if element.name == "ai" else read)
                found.append(_finding(study, placed, language, element, texts))
    return tuple(found)


def chats_before_consent(study: Study) -> tuple[PlacedStep, ...]:
    """The steps in which a model replies before any consent form was shown."""
    steps = tuple(placed_steps(study.flow))
    first = next((number for number, placed in enumerate(steps) if placed.step.step == CONSENT), None)
    return () if first is None else tuple(placed for placed in steps[:first] if replies(study, placed.step))


def consent_advice(study: Study) -> Iterator[str]:
    """A sentence or two on each element that is missing, with its place and an example."""
    for placed in chats_before_consent(study):
        yield f"{placed.where}: a model replies before the consent form. Move the form before {placed.step.id!r}."
    findings = consent_findings(study)
    if not findings and "prolific" not in study.file.recruitment.channels:  # lint says it with Prolific's reason
        yield (
            "flow: there is no consent form, so it is not recorded that participants agree. Start the flow with "
            "`{step: consent, text: ...}`."
        )
    for one in findings:
        if one.status == "missing":
            yield (
                f"{one.where}.text{_in(study, one.language)}: the consent form does not say {one.element.says} "
                f"({one.element.source}). For example: {_example(one)} If it does in other words, quote them: "
                f"`covers: {{{one.element.name}: ...}}`."
            )
    for where, language in dict.fromkeys((one.where, one.language) for one in findings if one.status == "unknown"):
        names = (one.element.name for one in findings if (one.where, one.status) == (where, "unknown"))
        yield (
            f"{where}.text{_in(study, language)}: there are patterns for {', '.join(WORDINGS)} only, so what the form "
            f"says was not looked for. Quote the sentences in `covers`: {', '.join(dict.fromkeys(names))}."
        )


def quotation_faults(text: str, quoted: Mapping[ElementName, str]) -> Iterator[str]:
    """An error for each quotation that is not in a form's text."""
    form = normalized(text)
    for name, quotation in quoted.items():
        if not normalized(quotation) or normalized(quotation) not in form:
            yield f"`covers.{name}`: {quotation!r} is not in the text of the form; quote it word for word"


def _finding(study: Study, placed: PlacedStep, language: str, element: Element, texts: Sequence[str]) -> ElementFinding:
    quoted: Mapping[ElementName, str] = getattr(placed.step, "covers", None) or {}
    if element.name in quoted:
        return ElementFinding(placed.where, language, element, "quoted", quoted[element.name])
    if element.name == "contact" and study.file.contact:
        return ElementFinding(placed.where, language, element, "found", study.file.contact)
    wordings = WORDINGS.get(language.partition("-")[0].lower())
    if wordings is None:
        return ElementFinding(placed.where, language, element, "unknown")
    pattern = wordings[element.name].pattern
    for sentence in _sentences(study.translate(text, language) for text in texts):
        if pattern.search(normalized(sentence)):
            return ElementFinding(placed.where, language, element, "found", sentence)
    return ElementFinding(placed.where, language, element, "missing")


def _texts(steps: Sequence[Step]) -> list[str]:
    """What people read in steps: headings, instructions, questions."""
    return [
        text
        for step in steps
        for text in (step.title, *_pages(step), *(field.text for field in step.questions_asked()))
        if text
    ]


def _pages(step: Step) -> tuple[str, ...]:
    """The texts above a step's questions, each as it is translated."""
    return getattr(step, "pages", ()) or (step.instructions(),)


def _sentences(texts: Iterator[str]) -> Iterator[str]:
    for text in texts:
        yield from filter(None, (plain(part) for part in _SENTENCE.split(text)))


def plain(text: str) -> str:
    """A text in Markdown as one line, without emphasis, headings and the signs of lists."""
    return re.sub(r"^(?:[-#]+|\d+\.)\s+", "", " ".join(text.replace("*", "").split()))


def _in(study: Study, language: str) -> str:
    return f" ({language})" if len(study.file.offered) > 1 else ""


def _example(one: ElementFinding) -> str:
    return f'"{WORDINGS[one.language.partition("-")[0].lower()][one.element.name].example}"'
