"""The record of processing activities, with the fields of GDPR Article 30(1), letters (a) to (g)."""

from __future__ import annotations

from collections.abc import Iterator

from app.documents.block import DocumentBlock, Heading, Paragraph, TextTable
from app.privacy.data import MEASURES, left_to_operator, periods, questions, recipients, stored_data
from app.privacy.facts import PrivacyFacts, bullets, listed, missing, opening, stated
from experiments.session.telemetry import disclosure

ABOUT = (
    "The record that a controller keeps of a processing activity (Regulation (EU) 2016/679, Article 30(1)). The "
    "letters are those of the article."
)


def processing_record(facts: PrivacyFacts) -> Iterator[DocumentBlock]:
    """The document."""
    info = facts.info
    yield from opening(facts, "Record of processing activities", ABOUT)
    yield Heading(2, "(a) Controller and contacts")
    yield bullets(
        (
            f"Controller: {stated(info.controller, 'privacy.controller')}",
            f"Joint controller or representative: {stated(info.representative, 'privacy.representative')}",
            f"Data protection officer: {stated(info.data_protection_officer, 'privacy.data_protection_officer')}",
            f"Contact for participants, on every screen: {facts.study.file.contact or missing('contact')}",
        )
    )
    yield Heading(2, "(b) Purposes")
    yield listed(info.purposes, "privacy.purposes")
    yield Paragraph(f"Legal basis (GDPR Art. 6 and 9): {stated(info.legal_basis, 'privacy.legal_basis')}")
    yield Heading(2, "(c) Categories of people and of data")
    yield from _categories(facts)
    yield Heading(2, "(d) Recipients")
    yield recipients_table(facts)
    yield Heading(2, "(e) Transfers to other countries")
    yield TextTable(
        "Transfers",
        ("Recipient", "Country", "Safeguards (GDPR, Chapter V)"),
        tuple((name, country, safeguards) for name, _, _, country, safeguards in recipients(facts)),
        3,
    )
    yield Heading(2, "(f) Periods after which data are erased")
    yield periods_table(facts)
    yield Heading(2, "(g) Security measures")
    yield TextTable(
        "Measures of Parley, each checked by tests (SECURITY.md)",
        ("Measure", "OWASP ASVS 5.0"),
        tuple((measure.text, measure.asvs) for measure in MEASURES),
        2,
    )
    yield Paragraph("What Parley leaves to those who run it:")
    yield bullets(tuple(left_to_operator(facts)))
    yield Paragraph("Organisational measures:")
    yield listed(info.security, "privacy.security")


def recipients_table(facts: PrivacyFacts) -> TextTable:
    """Who receives what."""
    rows = tuple(recipient[:4] for recipient in recipients(facts))
    return TextTable("Recipients", ("Recipient", "Receives", "Operator", "Country"), rows, 4)


def stored_table(facts: PrivacyFacts) -> TextTable:
    """What is stored of a participant."""
    return TextTable(
        "Stored of a participant",
        ("Category", "What it is, as the README of a person's data says"),
        stored_data(facts.study),
        2,
    )


def periods_table(facts: PrivacyFacts) -> TextTable:
    """How long everything is kept."""
    return TextTable("Periods", ("Data", "Kept for"), tuple(periods(facts)), 2)


def _categories(facts: PrivacyFacts) -> Iterator[DocumentBlock]:
    info, study = facts.info, facts.study
    yield bullets(
        (
            f"Participants: {stated(info.participants, 'privacy.participants')}",
            "Researchers who use the console: name, password (hashed), role, logins, and what they did (audit log).",
        )
    )
    yield stored_table(facts)
    if telemetry := disclosure(study):
        yield Paragraph(f'What the page records, as participants read it: "{telemetry}"')
    asked = tuple(dict.fromkeys(questions(study)))
    if asked:
        yield TextTable("Questions that participants are asked", ("Step", "Question", "Options"), asked, 3)
        yield Paragraph(
            "Does a question ask for a special category of data, such as health, ethnicity or political opinions (GDPR "
            "Art. 9)? Not stated: write it here. What participants write in chats and text boxes can contain any data."
        )
    if study.file.dataset and study.file.dataset.personal_information:
        yield Paragraph("Personal information in the published data, as the study says:")
        yield bullets(study.file.dataset.personal_information)
