"""The texts of a study that participants read, for translators.

They are every free text of a step, its questions and the last pages, found by walking the study, so that new kinds of
steps are included. Names, references and codes (NOT_READ) and texts without a word (`(1)`, `{{problem}}`) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.session.conversation_design import BY_MODEL, ConversationDesign
from experiments.session.progress import noun_of
from experiments.session.telemetry import disclosures
from experiments.study.base_model import StrictModel
from experiments.study.schema import Loop, Phase
from experiments.study.step import Step
from experiments.study.study import Study, nodes_of
from experiments.study.texts import SLOT

NOT_READ = frozenset(
    {"type", "chat", "code", "id", "model", "models", "name", "loop", "scale", "scales", "edition", "step", "stop_code"}
    | {"kind", "paste", "policy", "correct_answers", "on_expiry", "action", "truth", "url", "vote", "vote_when", "when"}
    | {"advice", "by", "continue_with", "instrument", "item", "mark", "order", "pattern", "rate_each", "tolerance"}
    | {"system_additions", "last", "format", "tools"}
)
WORD = re.compile(r"[^\W\d_]{2,}")


def texts_of(study: Study) -> tuple[str, ...]:
    """Every text that participants read, once each, in the order of the study."""
    texts = (text for text in all_texts(study) if WORD.search(SLOT.sub("", text)) and text != BY_MODEL)
    return tuple(dict.fromkeys(texts))


def prompts_of(study: Study) -> tuple[str, ...]:
    """System prompts and additions, which can be translated too: they are filled in the session's language."""
    systems = [model.system for model in study.file.models.values()]
    for _, step in study.steps:
        systems += [one.text for one in step.system_additions or ()] if isinstance(step, ConversationDesign) else []
    return tuple(text for one in systems for text in ([one] if isinstance(one, str) else one.pick.values()))


def normalize_whitespace(text: str) -> str:
    return " ".join(text.split())


def unused_translations(study: Study, language: str) -> tuple[str, ...]:
    """Translated texts that do not occur in the study, perhaps because they have changed since."""
    known = {*texts_of(study), *prompts_of(study), study.file.contact}
    return tuple(text for text in study.file.translations.get(language, {}) if text not in known)


def all_texts(study: Study) -> Iterator[str]:
    """Every text that participants read, also without a word, as often as it occurs."""
    yield study.file.title
    yield study.file.help or ""
    yield from disclosures(study)
    for node in nodes_of(study.flow):
        if isinstance(node, Phase):
            yield node.phase
        elif isinstance(node, Loop):
            yield noun_of(node)
        elif isinstance(node, Step):
            yield from texts_in(node)
            yield from (text for field in node.worded() for text in texts_in(field))
    for ending in study.file.outcomes.values():
        yield from texts_in(ending)
    for reminder in study.file.reminders.send if study.file.reminders else ():
        yield from (reminder.subject, reminder.text)


def texts_in(model: StrictModel) -> Iterator[str]:
    yield from (text for _, _, text in placed_texts_in(model))


def placed_texts_in(model: StrictModel) -> Iterator[tuple[StrictModel, str, str]]:
    """Each of these texts with the part that holds it (such as a question of a step) and the key there."""
    for name, value in vars(model).items():
        an_order = name == "options" and isinstance(value, str)
        if name not in NOT_READ and not an_order:
            yield from _placed(model, name, value)


def _placed(model: StrictModel, name: str, value: Any) -> Iterator[tuple[StrictModel, str, str]]:
    if isinstance(value, str):
        yield model, name, value
    elif isinstance(value, StrictModel):
        yield from placed_texts_in(value)
    elif isinstance(value, Mapping):
        yield from (found for item in value.values() for found in _placed(model, name, item))
    elif isinstance(value, list | tuple):
        yield from (found for item in value for found in _placed(model, name, item))
