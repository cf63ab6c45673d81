"""The check of the consent form as a document: each element, where it is required, and the words that say it."""

from __future__ import annotations

from collections.abc import Iterator

from app.documents.block import DocumentBlock, Heading, Paragraph, TextTable
from app.privacy.facts import PrivacyFacts, bullets, opening
from experiments.study.consent.check import chats_before_consent, consent_advice, consent_findings

ABOUT = (
    "Whether the consent form says what it has to say, in each language of the study, before the first chat. Parley "
    "looks for patterns of words (experiments/study/consent/elements.py), so it can miss a sentence, or take one for "
    "what it is not: read what was found. Elements that the study quotes (covers) are its author's judgement."
)
STATUS = {
    "found": "found",
    "quoted": "quoted by the author",
    "missing": "MISSING",
    "unknown": "NOT LOOKED FOR: no patterns for this language",
}
NOT_LOOKED_FOR = (
    "the legal basis (GDPR Art. 13(1)(c))",
    "the data protection officer, if there is one (GDPR Art. 13(1)(b))",
    "the recipients, model servers and recruiters among them (GDPR Art. 13(1)(e))",
    "transfers to countries outside the European Economic Area, and their safeguards (GDPR Art. 13(1)(f))",
    "the right to complain to a supervisory authority (GDPR Art. 13(2)(d))",
    "foreseeable risks or discomforts, and expected benefits (45 CFR 46.116(b)(2), (3); Helsinki 26)",
    "how far records are kept confidential, and whether data are used in further research (45 CFR 46.116(b)(5), (9))",
    "that refusal or withdrawal has no disadvantage (45 CFR 46.116(b)(8); Helsinki 26)",
    "funding, conflicts of interest, and payment (Helsinki 26)",
)


def consent_check(facts: PrivacyFacts) -> Iterator[DocumentBlock]:
    """The document."""
    yield from opening(facts, "Check of the consent form", ABOUT)
    findings = consent_findings(facts.study)
    yield Heading(2, "Elements")
    if not findings:
        yield Paragraph("The study has no step `consent`.", loud=True)
    for where, language in dict.fromkeys((one.where, one.language) for one in findings):
        rows = tuple(
            (one.element.says, one.element.source, STATUS[one.status], one.passage or "–")
            for one in findings
            if (one.where, one.language) == (where, language)
        )
        yield Heading(3, f"{where}, in {language}")
        yield TextTable(f"{where}, {language}", ("The form says", "Required by", "Result", "Words"), rows, 4)
    yield Heading(2, "Order")
    early = chats_before_consent(facts.study)
    yield Paragraph(
        f"A model replies before the form: {', '.join(one.where for one in early)}."
        if early
        else "No model replies before the form."
        if findings
        else "There is no form that could come before the first chat."
    )
    yield Heading(2, "What to change")
    yield bullets(tuple(consent_advice(facts.study)) or ("Nothing that Parley looks for is missing.",))
    yield Heading(2, "What Parley does not look for")
    yield Paragraph("The form has to say these as well, as far as they apply:")
    yield bullets(NOT_LOOKED_FOR)
