"""What is stored of people, who receives it, how long it is kept, how it is protected: parts of several documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.privacy.facts import PrivacyFacts, missing, stated
from experiments.session.telemetry import disclosure
from experiments.study.consent.check import plain, replies
from experiments.study.fields import Checkbox, Field
from experiments.study.sections.embed import EmbedSpec
from experiments.study.sections.privacy import Operator, Recipient
from experiments.study.study import Study
from experiments.study.template import SLOT, names
from storage.reports.person_readme import PARTS

IDENTIFYING = "identity"


@dataclass(frozen=True, slots=True)
class Measure:
    """A security measure of Parley's, with the requirement of the ASVS that SECURITY.md answers by tests."""

    text: str
    asvs: str


MEASURES = (
    Measure(
        "A recruiter's id is in no address after the first page; ids are in a table of their own, encrypted, and in no "
        "export.",
        "14.2.1",
    ),
    Measure("Analysts see no identity; owners see one only on request, and that is recorded.", "8.2.1–8.2.3"),
    Measure("A participant's session is opened by a signed cookie or a signed link, never by an id alone.", "8.2.4"),
    Measure("Cookies are for this host alone and cannot be read by scripts.", "3.3.1–3.3.4"),
    Measure("Accounts of the console have passwords of at least 15 characters, stored as argon2id hashes.", "11.4.2"),
    Measure("A login ends after half an hour without use, and after twelve hours.", "7.3.1, 7.3.2"),
    Measure("What researchers do is recorded in an audit log that cannot be changed.", "16.3.1–16.3.3"),
    Measure("Files with participants' data are readable by their owner alone.", "14.2.4"),
    Measure("No log has an id, a token or a participant's address.", "16.2.2, 16.2.5"),
    Measure("Pages request no other host, and browsers store none of them.", "14.2.3"),
    Measure("Every value that a browser sends is checked on the server.", "2.2.1, 2.2.2"),
    Measure("Texts of participants and models are shown as text and are never executed.", "1.2.1, 1.3.5"),
    Measure("Withdrawal erases a person's data; ids and data are deleted after the study's periods.", "14.2.6, 14.2.7"),
    Measure("Dependencies are pinned by hash and checked for known vulnerabilities.", "15.1.2, 15.2.1"),
)


def stored_data(study: Study) -> tuple[tuple[str, str], ...]:
    """The categories of data stored of a participant, as `parley person export` writes them, with what they are."""
    telemetry = disclosure(study)
    left_out = {
        "page_records": "" if telemetry else "nothing: telemetry is off",
        "payments": "" if study.file.bonus else "nothing: the study has no bonus",
        "scores": "" if study.instruments else "nothing: the study has no instrument",
        "messages": "" if talks(study) else "nothing: no model replies in this study",
        "model_calls": "" if talks(study) else "nothing: no model replies in this study",
    }
    return tuple((name.replace("_", " "), left_out.get(name) or about) for name, about in PARTS.items())


def talks(study: Study) -> bool:
    """Whether a model replies to participants."""
    return any(replies(study, step) for _, step in study.steps)


def questions(study: Study) -> Iterator[tuple[str, str, str]]:
    """Each question that participants are asked, with its step and its options."""
    for path, step in study.steps:
        for field in step.questions_asked():
            if not isinstance(field, Checkbox):
                yield path, worded(field.text or field.name), options_of(field)


def worded(text: str) -> str:
    """A text in one line, without emphasis; what is filled in is in brackets."""
    return SLOT.sub(r"[\1]", plain(text))


def options_of(field: Field) -> str:
    """The options of a question, in words."""
    return "; ".join(map(worded, getattr(field, "options", {}).values())) or "–"


def recipients(facts: PrivacyFacts) -> Iterator[tuple[str, str, str, str, str]]:
    """Recipient, what it receives, operator, country, and safeguards of a transfer."""
    info, file = facts.info, facts.study.file
    host = info.hosting or Operator()
    yield (
        "the machine on which Parley runs",
        f"everything; the database is {facts.database}",
        stated(host.operator, "privacy.hosting.operator"),
        stated(host.country, "privacy.hosting.country"),
        stated(host.safeguards, "privacy.hosting.safeguards"),
    )
    for server in facts.servers:
        key, operator = f"privacy.model_servers.{server.name}", server.operator
        yield (
            f"model server {server.name}{f' ({server.host})' if server.host else ''}",
            sent_words(server.models, server.annotators),
            stated(operator.operator, f"{key}.operator"),
            stated(operator.country, f"{key}.country"),
            stated(operator.safeguards, f"{key}.safeguards"),
        )
    others: dict[str, Recipient] = {one.name.lower(): one for one in info.recipients}
    for channel in file.recruitment.channels:
        if channel not in ("lab", "open"):
            key, operator = f"privacy.recipients, {channel}", others.pop(channel, Operator())
            yield f"recruiter {channel}", "who completed; completion codes and bonuses", *_operator(operator, key)
    if not file.recruitment.channels:
        unknown = missing("recruitment.channels")
        yield "a recruiter, if any: links of all are accepted", "who completed", unknown, unknown, unknown
    yield from _pages_around(file.embed, others)
    for receiver in facts.alerts:
        yield (
            f"alerts: {receiver}",
            "names of studies, numbers of sessions, counts and error codes; no text of participants, no recruiter's id",
            missing("privacy.recipients"),
            missing("privacy.recipients"),
            missing("privacy.recipients"),
        )
    for one in others.values():
        yield one.name, one.receives, *_operator(one, f"privacy.recipients, {one.name}")


def _pages_around(embed: EmbedSpec | None, others: dict[str, Recipient]) -> Iterator[tuple[str, str, str, str, str]]:
    """The pages of other sites that an embedded study stands in, each taken out of the other recipients."""
    for origin in embed.origins if embed else ():
        operator, sent = others.pop(origin, Operator()), ", ".join(embed.send if embed else ())
        yield f"the page of {origin} around the study", sent, *_operator(operator, f"privacy.recipients, {origin}")


def _operator(one: Operator, key: str) -> tuple[str, str, str]:
    """The operator, its country and the safeguards of a transfer, as far as they are stated."""
    return stated(one.operator, key), stated(one.country, key), stated(one.safeguards, key)


def sent_words(models: tuple[str, ...], annotators: tuple[str, ...]) -> str:
    """What a model server receives, in words."""
    parts = []
    if models:
        parts.append(f"messages of participants to {', '.join(models)}, with the conversation so far")
    if annotators:
        parts.append(f"whole conversations, where researchers run the annotators {', '.join(annotators)}")
    return "; ".join(parts)


def system_prompt_values(study: Study) -> tuple[str, ...]:
    """The names of values that system prompts contain, such as a condition or an answer."""
    systems = (model.system for model in study.file.models.values())
    texts = (text for one in systems for text in ([one] if isinstance(one, str) else one.pick.values()))
    return tuple(dict.fromkeys(name for text in texts for name in names(text)))


def periods(facts: PrivacyFacts) -> Iterator[tuple[str, str]]:
    """How long each category of data is kept."""
    file = facts.study.file
    after = "after the last activity in the session; the running server deletes them every day"
    yield (
        "recruiter's id, and its link to the data",
        f"{file.keep_ids_for} {after}" if file.keep_ids_for else f"without limit. {missing('keep_ids_for')}",
    )
    yield (
        "all other data of a participant",
        f"{file.keep_for} {after}" if file.keep_for else f"without limit. {missing('keep_for')}",
    )
    yield "data of a participant who withdraws", "erased at once (the button of the page, or parley withdraw)"
    yield "after an erasure", "a row stays: the session's random name, the time and the reason; no content"
    yield "accounts of the console and the audit log", "without limit: nothing deletes them"
    yield "backups, exports and payment files", "Parley does not know of them. Not stated: write it here."
    for server in facts.servers:
        key = f"privacy.model_servers.{server.name}.retention"
        yield f"what model server {server.name} was sent", stated(server.operator.retention, key)


def left_to_operator(facts: PrivacyFacts) -> Iterator[str]:
    """Measures that Parley does not take."""
    yield (
        "Connections of participants are encrypted by the proxy in front of Parley: the public address is https."
        if facts.encrypted
        else "The settings have no https address (PARLEY_PUBLIC_URL), so connections of participants may not be "
        "encrypted. Put a proxy with TLS in front of Parley."
    )
    yield "The database file is not encrypted by Parley. Not stated: is the disk encrypted?"
    yield "The console has no second factor. Not stated: is single sign-on in front of it, or is it on loopback?"
