"""The annex of an application to an ethics board (IRB): what participants go through, read and see, step by step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.documents.block import DocumentBlock, DocumentPicture, Heading, Paragraph, Quotation, TextTable
from app.privacy.data import options_of, talks, worded
from app.privacy.facts import PrivacyFacts, bullets, listed, missing, opening, stated
from app.privacy.screens import START, Arm, SeenScreen
from app.studies.outline import Branch, outline
from experiments.session.disclosures import HIDDEN_DISCLOSED, HONEYPOT_DISCLOSED, disclosures
from experiments.study.consent.check import CONSENT
from experiments.study.fields import Field
from experiments.study.sections.dataset_info import DatasetInfo
from experiments.study.step import Step
from experiments.study.study import Study

ABOUT = (
    "What participants of the study go through, in their order, with the wording of every text and question, and a "
    "picture of every screen. It is an annex: the application itself says why the study is worth doing."
)
MOST_PROBLEMS = 50
"""So many problems of a pool are in the annex."""
PER = {"correct_answer": "correct answer", "answer": "answer", "completion": "completed study"}
NO_PICTURES = "There are no pictures: the annex was made with --no-screenshots."


def irb_annex(
    facts: PrivacyFacts, arms: Sequence[Arm], pictures: dict[str, tuple[DocumentPicture, ...]]
) -> Iterator[DocumentBlock]:
    """The document; `pictures` are those of each screen, by its name."""
    study, info, published = facts.study, facts.info, facts.study.file.dataset or DatasetInfo()
    yield from opening(facts, "Annex to the application for ethics review", ABOUT)
    yield Heading(2, "Responsible")
    yield bullets(
        (
            f"Controller: {stated(info.controller, 'privacy.controller')}",
            f"Contact for participants: {study.file.contact or missing('contact')}",
            f"Ethics approval: {stated(published.ethics_approval, 'dataset.ethics_approval')}",
        )
    )
    yield Heading(2, "Purpose")
    yield listed(info.purposes, "privacy.purposes")
    yield Heading(2, "Participants, recruitment and pay")
    yield bullets(tuple(_recruitment(facts, published)))
    yield Heading(2, "Duration")
    yield bullets(tuple(_duration(facts)))
    yield Heading(2, "Consent")
    yield from _consent(study)
    yield Heading(2, "Conditions")
    yield from _conditions(study)
    yield Heading(2, "Models that reply")
    yield from _models(study)
    yield Heading(2, "Deception and what is hidden")
    yield from _hidden(facts)
    yield Heading(2, "Procedure, with the wording")
    yield from _procedure(outline(study)[-1].children, iter(study.steps), [])
    yield from _problems(study)
    yield Heading(2, "Debriefing and last pages")
    yield from _endings(facts)
    yield Heading(2, "Risks and benefits")
    yield Paragraph("Risks and discomforts, and what is done about them:")
    yield listed(info.risks, "privacy.risks")
    yield Paragraph("Benefits:")
    yield listed(info.benefits, "privacy.benefits")
    yield Heading(2, "Screens")
    yield from _screens(arms, pictures)


def _recruitment(facts: PrivacyFacts, published: DatasetInfo) -> Iterator[str]:
    file = facts.study.file
    who = facts.info.participants or published.participants
    yield f"Who takes part: {stated(who, 'privacy.participants')}"
    channels = ", ".join(file.recruitment.channels)
    yield f"Links that are accepted: {channels or 'of any recruiter, and open links without an id'}"
    wanted = "; ".join(
        f"{quota.max}{' with ' if quota.where else ''}{', '.join(f'{n} {v}' for n, v in quota.where.items())}"
        for quota in file.quotas
    )
    yield f"Number of participants: {wanted or missing('quotas')}"
    yield f"Pay: {stated(published.pay, 'dataset.pay')}"
    for rule in file.bonus:
        most = f", at most {rule.max}" if rule.max is not None else ""
        yield f"Bonus: {rule.amount} per {PER[rule.per]}{most}, in the recruiter's currency"
    yield f"Someone who comes again: {file.recruitment.repeat_participation.replace('_', ' ')}"


def _duration(facts: PrivacyFacts) -> Iterator[str]:
    limits = facts.study.file.session_limits
    if facts.minutes is not None:
        yield (
            f"About {facts.minutes:.0f} minutes: the median of simulated participants, who read and type at a usual "
            "speed. A pilot with people tells more."
        )
    else:
        yield "Not known: no simulated participants were run."
    if limits.time_limit_s:
        yield f"A session ends after {limits.time_limit_s / 60:.0f} minutes."
    if limits.away_after_s:
        yield f"A session ends after {limits.away_after_s / 60:.0f} minutes without activity."
    yield "Participants may stop at any time, and may continue later with the same link."


def _consent(study: Study) -> Iterator[DocumentBlock]:
    forms = [(path, step) for path, step in study.steps if step.step == CONSENT]
    if not forms:
        yield Paragraph("The study has no consent form.", loud=True)
    for path, step in forms:
        yield Paragraph(f"The form (step {path}):")
        yield Quotation("\n".join((unwrapped(step.instructions()), *disclosures(study))))
        yield from map(_question, step.questions_asked())
    yield Paragraph("Whether it contains what it has to is in the check of the consent form.")


def _question(field: Field) -> Paragraph:
    return Paragraph(f"To tick: {field.text}")


def _conditions(study: Study) -> Iterator[DocumentBlock]:
    factors = [
        (branch.text.partition(": ")[0], branch.text.partition(": ")[2])
        for branch in outline(study)
        if branch.kind == "factor"
    ]
    if not factors:
        yield Paragraph("All participants go through the same.")
        return
    yield TextTable("Factors, assigned at random", ("Factor", "Values"), tuple(factors), 2)


def _models(study: Study) -> Iterator[DocumentBlock]:
    if not talks(study):
        yield Paragraph("None: no model replies to participants.")
        return
    yield Paragraph("Parley shows participants neither the models' names nor their system prompts:")
    rows = tuple(
        (
            name,
            f"{model.backend}{f' on {model.server}' if model.server else ''}",
            model.model or name,
            "of the server" if model.temperature is None else f"{model.temperature:g}",
        )
        for name, model in study.file.models.items()
    )
    yield TextTable("Models", ("Name", "Backend", "Model", "Temperature"), rows, 4)
    for name, model in study.file.models.items():
        prompts = {"": model.system} if isinstance(model.system, str) else model.system.pick
        for value, text in prompts.items():
            yield Paragraph(f"System prompt of {name}{f', {value}' if value else ''}:")
            yield Quotation(text or "(empty)")


def _hidden(facts: PrivacyFacts) -> Iterator[DocumentBlock]:
    study, checks = facts.study, facts.study.file.integrity
    yield Paragraph(f"Deception: {stated(facts.info.deception, 'privacy.deception')}")
    yield Paragraph("From the study file:")
    found = []
    if checks is not None and checks.hidden_instruction:
        found.append(
            f"Pages contain a hidden instruction for AI models, to use the word {checks.hidden_instruction!r}. "
            f'Participants read in the consent form: "{HIDDEN_DISCLOSED}"'
        )
    if checks is not None and checks.honeypot:
        found.append(f'Forms have a hidden box. Participants read in the consent form: "{HONEYPOT_DISCLOSED}"')
    if not found:
        found.append("Pages contain no hidden instruction and no hidden box.")
    if talks(study):
        labels = dict.fromkeys(getattr(step, "assistant_label", "") for _, step in study.steps)
        shown = ", ".join(repr(label) for label in labels if label)
        found.append(f"Participants see models under other names ({shown or 'A, B, ...'}).")
    wrong = [
        name for name, model in study.file.models.items() if model.backend == "scripted" and model.options.get("wrong")
    ]
    if wrong:
        found.append(f"These models give wrong answers on purpose, as often as the study says: {', '.join(wrong)}.")
    if study.factors:
        found.append("Parley does not tell participants which condition they are in.")
    yield bullets(tuple(found))


def _procedure(
    branches: Sequence[Branch], steps: Iterator[tuple[str, Step]], number: list[int]
) -> Iterator[DocumentBlock]:
    for count, branch in enumerate(branches, 1):
        at = [*number, count]
        place, only = ".".join(map(str, at)), f" (only if {branch.only})" if branch.only else ""
        if branch.kind == "step":
            yield Heading(3, f"{place} {branch.text}{only}: {branch.path}")
            yield from _wording(next(steps)[1])
        else:
            name = f"For each {branch.text}, {branch.note}" if branch.kind == "each" else f"Phase: {branch.text}"
            yield Heading(3, f"{place} {name}{only}")
            yield from _procedure(branch.children, steps, at)


def _wording(step: Step) -> Iterator[DocumentBlock]:
    if step.title:
        yield Paragraph(f"Heading: {step.title}")
    if text := step.instructions():
        yield Quotation(unwrapped(text))
    if named := step.instruments():
        yield Paragraph(f"Instruments: {', '.join(named)}")
    rows = tuple(
        (
            worded(field.text or field.name),
            str(getattr(field, "type", "") or "answer").replace("_", " "),
            options_of(field),
            "yes" if field.required else "no",
        )
        for field in step.questions_asked()
    )
    if rows:
        yield TextTable(f"Questions of {step.id}", ("Question", "Kind", "Options", "Required"), rows, 4)
    if step.time_limit:
        yield Paragraph(f"Time limit: {step.time_limit.after_s:g} s, then {step.time_limit.on_expiry}.")


def _problems(study: Study) -> Iterator[DocumentBlock]:
    """The texts of the problems, or of the first of many."""
    for name, pool in study.pools.items():
        yield Heading(3, f"Problems: {name} ({len(pool)})")
        rows = tuple(
            (
                one.id,
                worded(one.text),
                "; ".join(f"{option.key}. {worded(option.text)}" for option in one.options) or "–",
            )
            for one in pool[:MOST_PROBLEMS]
        )
        yield TextTable(f"Problems of {name}", ("Problem", "Text", "Options"), rows, 3)
        if len(pool) > MOST_PROBLEMS:
            yield Paragraph(f"{len(pool) - MOST_PROBLEMS} more are in the study's own files.")


def _endings(facts: PrivacyFacts) -> Iterator[DocumentBlock]:
    yield Paragraph(f"Debriefing: {stated(facts.info.debriefing, 'privacy.debriefing')}")
    for path, step in facts.study.steps:
        if step.step == "finish":
            yield Paragraph(f"The last page ({path}):")
            yield Quotation(unwrapped(step.instructions()) or "(Parley's own text, see the screens)")
    for outcome, page in facts.study.file.outcomes.items():
        if page.text or page.title:
            yield Paragraph(f"The last page of the outcome {outcome}:")
            yield Quotation("\n".join(filter(None, (page.title, unwrapped(page.text)))))


def _screens(arms: Sequence[Arm], pictures: dict[str, tuple[DocumentPicture, ...]]) -> Iterator[DocumentBlock]:
    if not pictures:
        yield Paragraph(NO_PICTURES, loud=True)
        return
    yield Paragraph(
        "A simulated participant went through the study with a scripted model; what it typed and what was replied mean "
        "nothing. Each screen is shown as on a computer (1280 pixels wide) and on a phone (390). Of a loop the first "
        "turn is shown."
    )
    yield Heading(3, "The start page")
    yield from pictures[START]
    for arm in arms:
        yield Heading(3, arm.label)
        for seen in arm.screens:
            yield Heading(4, _title(seen))
            yield from pictures.get(seen.name, ())
        if arm.not_met:
            yield Paragraph(
                f"No simulated participant came to: {', '.join(arm.not_met)}. Add pictures of these.", loud=True
            )


def unwrapped(text: str) -> str:
    """A text in Markdown with a line for each paragraph and item of a list, without emphasis."""
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)", text.replace("**", ""))
    return "\n".join(filter(None, (" ".join(part.split()) for part in parts)))


def _title(seen: SeenScreen) -> str:
    return f"{seen.number}. {seen.title}"
