"""Every text that the author of a study shows to participants, with how the page shows it and where it stands.

How a text is shown follows from its key. Keys that are in neither list are questions, options and labels of answers;
tests/core/app/studies/test_page_texts.py compares the lists with the pages themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.rendering.losses import Form
from experiments.session.conversation_design import Ending
from experiments.session.model_conversation import OnFailure
from experiments.session.telemetry import disclosures
from experiments.study.base_model import StrictModel
from experiments.study.fields import Field
from experiments.study.resolve import named_protocols
from experiments.study.schema import Phase
from experiments.study.step import Step
from experiments.study.study import Study, nodes_of
from experiments.views.translatable_texts import normalize_whitespace, placed_texts_in
from problems.problem import Problem

# Keys whose texts the page shows without Markdown.
PLAIN = frozenset(
    {"title", "button", "decline", "assistant_label", "assistant_labels", "user_label", "no_reply_text"}
    | {"better", "tie", "bad", "texts", "initial"}
)
# Keys whose texts it shows as blocks of Markdown, except in questions.
BLOCKS = frozenset({"text", "pages", "warning", "stop_text", "opens", "scripted"})


@dataclass(frozen=True, slots=True)
class PageText:
    """A text, its path in the study file (empty if it comes from elsewhere), and how the page shows it."""

    where: str
    text: str
    form: Form
    name: str = ""
    """The text's name where the path does not give it: `line 7, 'q1', option A`."""
    quoted: bool = False
    """True for quoted text, such as a message of a finished conversation, which may hold anything."""
    pool: str = ""
    """The pool that it is of, whose errors of one kind are one error; empty for a text of the study itself."""


def texts_of_study(study: Study, raw: Mapping[str, Any], protocols: Mapping[str, Any]) -> Iterator[PageText]:
    named = {name: protocols[name] for name in sorted(named_protocols(study.file) & protocols.keys())}
    places = _places("protocol", named) | _places("instrument", _files(study))
    places |= dict(reversed([*_strings(raw, "")]))  # of equal texts the first
    forms: dict[str, set[Form]] = {}
    for form, text in dict.fromkeys(_forms(study)):
        forms.setdefault(normalize_whitespace(text), set()).add(form)
        where, name = places.get(text, ("", ""))
        yield PageText(where, text, form, name)
    for tag, words in study.file.translations.items():
        for text, translated in words.items():
            for form in sorted(forms.get(normalize_whitespace(text), ())):
                where, name = places.get(translated, (f"translations.{tag}", ""))
                yield PageText(where, translated, form, name)


def texts_of_problems(where: str, problems: Sequence[Problem]) -> Iterator[PageText]:
    for problem in problems:
        name = f"{problem.place}, {problem.id!r}" if problem.place else repr(problem.id)
        spoken = {message.text for message in problem.dialogue}
        yield PageText(where, problem.text, "blocks", name, problem.text in spoken, where or "items")
        for option in problem.options:
            yield PageText(where, option.text, "line", f"{name}, option {option.key},", pool=where or "items")
        for number, message in enumerate(problem.dialogue, 1):
            yield PageText(where, message.text, "blocks", f"{name}, message {number},", True, where or "items")


def _forms(study: Study) -> Iterator[tuple[Form, str]]:
    yield "plain", study.file.title
    yield "line", study.file.contact
    yield from (("blocks", text) for text in disclosures(study))
    for node in nodes_of(study.flow):
        if isinstance(node, Phase):
            yield "plain", node.phase
        elif isinstance(node, Step):
            for part in (node, *node.worded()):
                yield from ((_form(held, key), text) for held, key, text in placed_texts_in(part))
    for ending in study.file.outcomes.values():
        yield from ((_form(held, key), text) for held, key, text in placed_texts_in(ending))


def _form(model: StrictModel, key: str) -> Form:
    if isinstance(model, Field):
        return "line"
    if key in PLAIN or (isinstance(model, OnFailure | Ending) and key == "text"):
        return "plain"
    return "blocks" if key in BLOCKS else "line"


def _files(study: Study) -> dict[str, Any]:
    return {name: one.model_dump(mode="json", by_alias=True) for name, one in study.instruments.items()}


def _places(kind: str, files: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The texts of protocols or instruments, each named by its file and its path there."""
    return {
        text: ("", f"the {kind} {name!r}, {where},")
        for name, raw in files.items()
        for text, (where, _) in _strings(raw, "")
    }


def _strings(value: Any, where: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Every text of a file with its path, such as `flow[3].text`."""
    if isinstance(value, str):
        yield value, (where, "")
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _strings(part, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _strings(part, f"{where}[{number}]")
