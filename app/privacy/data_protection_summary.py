"""A summary of data protection in a study: a text for participants, and a starting point for an impact assessment."""

from __future__ import annotations

from collections.abc import Iterator

from app.documents.block import Diagram, DocumentBlock, Heading, Paragraph, TextTable
from app.privacy.data import left_to_operator, questions, system_prompt_values, talks
from app.privacy.facts import PrivacyFacts, bullets, listed, opening, stated
from app.privacy.processing_record import periods_table, recipients_table, stored_table
from experiments.session.telemetry import disclosure
from experiments.study.study import Study

ABOUT = (
    "What data flow where in this study, what is never sent, and how long data are kept. It can be given to "
    "participants who ask, and is a starting point for a data protection impact assessment (GDPR Art. 35(7)), which "
    "the controller completes: necessity and proportionality are not assessed here."
)
RIGHTS = (
    (
        "Access and portability (GDPR Art. 15, 20)",
        "parley person export ID writes all that is stored of a person, as JSON",
    ),
    (
        "Erasure (Art. 17), withdrawal of consent (Art. 7(3))",
        "the button of the page, or parley withdraw: all is erased",
    ),
    ("Deletion of the link to the person", "parley person delete-id, or by itself after keep_ids_for"),
    ("Rectification (Art. 16)", "answers are never changed; researchers add a note to the session, or exclude it"),
)
NEVER_SENT = (
    "the recruiter's id, the session's name, cookies and addresses",
    "what the page records (telemetry), times and payments",
    "conversations of other participants",
    "the answer key",
)


def data_protection_summary(facts: PrivacyFacts) -> Iterator[DocumentBlock]:
    """The document."""
    info, study = facts.info, facts.study
    yield from opening(facts, "Data-protection summary", ABOUT)
    yield bullets(
        (
            f"Controller: {stated(info.controller, 'privacy.controller')}",
            f"Contact: {study.file.contact or stated('', 'contact')}",
            f"Data protection officer: {stated(info.data_protection_officer, 'privacy.data_protection_officer')}",
            f"Supervisory authority: {stated(info.supervisory_authority, 'privacy.supervisory_authority')}",
        )
    )
    yield Heading(2, "Data flows")
    yield Diagram(flows(facts))
    yield recipients_table(facts)
    yield Heading(2, "What is sent to models")
    yield from _sent(facts)
    yield Heading(2, "What is stored")
    yield stored_table(facts)
    yield Heading(2, "Pseudonyms")
    yield bullets(tuple(_pseudonyms(study)))
    yield Heading(2, "Periods and erasure")
    yield periods_table(facts)
    yield Heading(2, "Rights, and how they are met")
    yield TextTable("Rights", ("Right", "How"), RIGHTS, 2)
    yield Heading(2, "Risks and measures")
    yield TextTable("Risks that follow from the study", ("Risk", "Measure"), tuple(_risks(facts)), 2)
    yield Paragraph("Further risks, as the study says:")
    yield listed(info.risks, "privacy.risks")
    yield Paragraph("What Parley leaves to those who run it:")
    yield bullets(tuple(left_to_operator(facts)))


def flows(facts: PrivacyFacts) -> str:
    """The data flows as a Mermaid diagram."""
    lines = ["flowchart LR", '  person["Participant\'s browser"]', f'  parley[("Parley: {_label(facts.database)}")]']
    lines += ["  person -- answers, messages --> parley", "  parley -- screens, replies --> person"]
    for number, server in enumerate(facts.servers):
        lines.append(f'  model{number}["Model server {_label(server.name)}"]')
        sent = "messages" if server.models else "conversations"
        lines += [f"  parley -- {sent} --> model{number}", f"  model{number} -- replies --> parley"]
    for channel in facts.study.file.recruitment.channels:
        if channel not in ("lab", "open"):
            lines += [f'  {channel}["Recruiter {channel}"]', f"  {channel} -- recruiter's id --> parley"]
            lines.append(f"  parley -- completion code --> {channel}")
    if embed := facts.study.file.embed:
        for number, origin in enumerate(embed.origins):
            sent = ", ".join(embed.send)
            lines += [f'  page{number}["Page of {origin} around the study"]', f"  parley -- {sent} --> page{number}"]
    for number, receiver in enumerate(facts.alerts):
        lines += [f'  alert{number}["{_label(receiver)}"]', f"  parley -- counts and states --> alert{number}"]
    lines += ['  team["Researchers"]', "  parley -- pseudonymous data --> team"]
    return "\n".join(lines)


def _label(text: str) -> str:
    return text.replace('"', "'")


def _sent(facts: PrivacyFacts) -> Iterator[DocumentBlock]:
    yield Paragraph(
        "Whole conversations are sent to a model that labels them only where researchers run parley annotate; its "
        "--model takes precedence over the study's."
    )
    if not facts.servers:
        yield Paragraph(
            "While participants take part, nothing leaves Parley: no model is requested from a server."
            if talks(facts.study)
            else "Nothing: no model replies in this study."
        )
        return
    rows = tuple(
        (name, model.server or model.backend, model.model or name)
        for server in facts.servers
        for name in server.models
        for model in (facts.study.file.models[name],)
    )
    yield TextTable("Models and their servers", ("In the study", "Server", "Model there"), rows, 3)
    yield Paragraph("With each message of a participant, its model's server receives:")
    values = system_prompt_values(facts.study)
    yield bullets(
        (
            "the messages and replies of that conversation so far",
            *_problems(facts.study),
            "the system prompt"
            + (
                f", with the values of {', '.join(values)}" if values else ", which contains nothing of the participant"
            ),
        )
    )
    yield Paragraph("With a message, Parley never sends:")
    yield bullets(
        (
            *NEVER_SENT,
            f"answers to questions{' other than the values in the system prompt' if values else ''}",
        )
    )
    yield Paragraph("Participants may write anything into a message, also what identifies them. It is sent as it is.")


def _problems(study: Study) -> Iterator[str]:
    paths = [path for path, step in study.steps if getattr(step, "problem_in_prompt", False)]
    if paths:
        yield f"the problem being worked on, in {', '.join(paths)}"


def _pseudonyms(study: Study) -> Iterator[str]:
    yield "In the data a session has a random name, which says nothing about the person."
    yield "The recruiter's id is in a table of its own, encrypted with the deployment's secret, and in no export."
    if study.file.keep_ids_for:
        yield f"After {study.file.keep_ids_for} the link between the person and the data is deleted."
    else:
        yield "The link between the person and the data is kept until somebody deletes it: there is no keep_ids_for."


def _risks(facts: PrivacyFacts) -> Iterator[tuple[str, str]]:
    study = facts.study
    if any(server.models for server in facts.servers):
        yield (
            "Participants write personal data to a model that others operate",
            "ask them in the instructions not to; a contract with the operator. Not stated: is there one?",
        )
    if talks(study):
        yield (
            "A model says something wrong, harmful or offensive",
            "say before the first chat that it can; a contact on every screen",
        )
    if any(True for _ in questions(study)):
        yield "Answers together identify a person", "ask for no more than is needed; publish less; keep_ids_for"
    if disclosure(study):
        yield (
            "Recorded times and counts say how a person works",
            "the consent form says so; no content is recorded; telemetry: false",
        )
    if study.file.recruitment.channels:
        yield "Recruiters' ids lead to people", "a table of its own, encrypted; owners alone can see one; keep_ids_for"
    if study.file.integrity is not None:
        yield "Hidden content of pages is taken for a sign against a person", "the consent form says so"
    yield "Others get access to the database or a backup", "see the security measures in the record of processing"
