"""Every fixed string that a participant can read has a translation in every catalogue, and no catalogue has more."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from app.i18n.catalogues import catalogues
from app.studies.loader import PROTOCOLS, read_yaml
from app.web.participant.view import NOT_WHOLE, PAGE_WORDS, TOOL_STATES
from experiments.errors import NOT_OFFERED
from experiments.instruments import dices_safety, scales
from experiments.session.conversation import NO_OPENING, STOPPED, TOO_LONG, UNANSWERED
from experiments.session.conversation_design import OVER
from experiments.session.outcomes import COMMON, ENDED_HERE, PARTS
from experiments.session.progress import TASK, noun_of
from experiments.session.telemetry import (
    DISCLOSED,
    DISCLOSED_WITHOUT_PASTING,
    HIDDEN_DISCLOSED,
    HONEYPOT_DISCLOSED,
    HOST_DISCLOSED,
)
from experiments.study.instrument import HEADING
from experiments.study.schema import Loop, ProtocolFile
from experiments.study.sections.reminders import Reminder
from experiments.study.step import Step, kinds
from experiments.study.study import nodes_of
from experiments.study.texts import SLOT
from experiments.views.translatable_texts import WORD, texts_in

ROOT = Path(__file__).parents[2]
# Calls that say something to a participant, each with the place of its text among the arguments.
SAID = {"Refused": 1, "Invalid": 0, "lazy": 0, "say": 0}
# Functions whose refusals only programs read: no participant can make these actions.
INSIDE = {
    "_researcher",
    "_refuse_erased",
    "_annotated",
    "_system",
    "_model",
    "_answered",
    "expired",
    "enrol",
    "judged_later",
}
# Where English is spoken.
RESEARCHERS = ROOT / "app" / "web" / "console"
PARTICIPANTS = tuple(ROOT / "app" / "web" / "participant" / name for name in ("forms", "pages"))
REMINDERS = ROOT / "app" / "session" / "reminders"
TEMPLATES = sorted(path for folder in (*PARTICIPANTS, REMINDERS) for path in folder.rglob("*.j2"))
OWN_WORD = re.compile(r"""\bt\(\s*"([^"]*)\"""")
# What the loops of Parley's own studies are called; any study may call its loops so.
NOUNS = {"question", "theorem", "problem", "item", "conversation", "set", "check"}
OTHERS = sorted(set(catalogues()) - {"en"})
NAMES = re.compile(r"\{\{\s*[\w.-]+\s*\}\}|\{(\w+)(?::[^}]*)?\}")


def _trees() -> Iterator[ast.Module]:
    for folder in ("app", "experiments"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if RESEARCHERS in path.parents:
                continue
            yield ast.parse(path.read_text(encoding="utf-8"), str(path))


def _texts(value: ast.AST, known: dict[str, list[ast.expr]]) -> Iterator[str]:
    """The texts that an expression can be: a literal, either branch of a choice, a name given one in the same file."""
    match value:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=one, orelse=other):
            yield from _texts(one, known)
            yield from _texts(other, known)
        case ast.Name(id=name):
            for given in known.get(name, []):
                yield from _texts(given, known)
        case ast.JoinedStr():
            yield f"an f-string, which cannot be translated: {ast.unparse(value)}"


def _calls(node: ast.AST, inside: str = "") -> Iterator[tuple[ast.Call, str]]:
    for child in ast.iter_child_nodes(node):
        where = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else inside
        if isinstance(child, ast.Call):
            yield child, where
        yield from _calls(child, where)


def _said(tree: ast.Module) -> Iterator[str]:
    known: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known.setdefault(node.targets[0].id, []).append(node.value)
    for call, inside in _calls(tree):
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        if name in SAID and len(call.args) > SAID[name] and inside not in INSIDE:
            yield from _texts(call.args[SAID[name]], known)


def _of_protocols() -> Iterator[str]:
    yield TASK  # in place of the name of a study's own loop
    for path in PROTOCOLS.glob("*.yaml"):
        for node in nodes_of(ProtocolFile.model_validate(read_yaml(path)).flow):
            if isinstance(node, Step):
                yield from texts_in(node)
            elif isinstance(node, Loop):
                yield noun_of(node)


def _of_steps() -> Iterator[str]:
    """Yield the texts of steps where a study has none: the defaults of their keys, and the words of their own
    questions."""
    for name, kind in kinds().items():
        if kind.__module__.startswith("experiments."):
            yield from texts_in(kind.model_construct(step=name))
    for path in (*(ROOT / "experiments" / "steps").glob("*.py"), ROOT / "experiments" / "study" / "problem_answer.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.keyword(arg="text" | "left" | "right", value=ast.Constant(value=str(text))):
                    yield text
                case ast.Dict(keys=keys, values=values):
                    named = zip(keys, values, strict=True)
                    yield from (
                        v.value for k, v in named if getattr(k, "value", "") == "text" and isinstance(v, ast.Constant)
                    )


def _of_instruments() -> Iterator[str]:
    yield from scales.QUESTIONS.values()
    yield from (words for scale in scales.SCALES.values() for words in scale.values())
    yield from (*dices_safety.COMPREHENSION_OPTIONS, *dices_safety.ANSWERS)
    for edition in dices_safety.REASONS.values():
        for heading, reasons in edition.items():
            yield from (heading, *reasons.values())
    yield from (*scales.LABELS.values(), scales.WRITE_IN)


@cache
def used() -> frozenset[str]:
    """Every English text of Parley's own that a participant can read."""
    templates = [text for path in TEMPLATES for text in OWN_WORD.findall(path.read_text(encoding="utf-8"))]
    common = [text for pair in (*COMMON.values(), *PARTS.values(), ENDED_HERE) for text in pair]
    said = [text for tree in _trees() for text in _said(tree)]
    disclosed = (DISCLOSED, DISCLOSED_WITHOUT_PASTING, HIDDEN_DISCLOSED, HONEYPOT_DISCLOSED, HOST_DISCLOSED)
    shown = (
        "The conversation",
        NOT_OFFERED,
        STOPPED,
        TOO_LONG,
        UNANSWERED,
        NO_OPENING,
        OVER,
        HEADING,
        Reminder.model_fields["text"].default,
        *disclosed,
        *NOUNS,
        *NOT_WHOLE.values(),
        *TOOL_STATES.values(),
        *PAGE_WORDS.values(),
    )
    found = {*templates, *common, *said, *shown, *_of_protocols(), *_of_steps(), *_of_instruments()}
    return frozenset(text for text in found if WORD.search(SLOT.sub("", text)))


def names(text: str) -> list[str]:
    """The names that a text wants to be filled."""
    return sorted(match[1] or match[0].replace(" ", "") for match in NAMES.finditer(text))


@pytest.mark.parametrize("tag", OTHERS)
def test_a_catalogue_has_every_text_that_a_participant_can_read(tag: str) -> None:
    assert sorted(used() - set(catalogues()[tag].words)) == []


@pytest.mark.parametrize("tag", OTHERS)
def test_a_catalogue_has_no_text_that_nothing_uses(tag: str) -> None:
    assert sorted(set(catalogues()[tag].words) - used()) == []


@pytest.mark.parametrize("tag", OTHERS)
def test_a_translation_names_what_its_text_names(tag: str) -> None:
    words = catalogues()[tag].words
    assert [text for text, told in words.items() if names(text) != names(told)] == []
    assert [text for text, told in words.items() if not told.strip()] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_says_nothing_but_through_the_catalogue(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"\{% set \w+ %\}[\s\S]*?\{% endset %\}", "", text)
    words = re.sub(r"\{[{%#][\s\S]*?[}%#]\}", "", text)
    labels = re.findall(r'(?:aria-label|aria-valuetext|title|placeholder|alt)="([^"]*)"', words)
    visible = re.sub(r"<[^>]*>", " ", words)
    assert re.findall(r"[A-Za-z]{2,}[^<\n]*", visible) + [label for label in labels if label] == []
