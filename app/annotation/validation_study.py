"""An annotator verified by people: a random sample of its annotations, as a study in which people answer the same.

Each field of the annotator's answer becomes a question of the form. What the model and a person say is compared as a
short text (`says`), in which both speak alike, field by field; lists of free words are asked, and not compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from app.annotation.annotators.base import Annotator, PictureContents, parts
from app.annotation.annotators.json_reply import Schema
from app.errors import AnnotatorUnknown
from experiments.events import Data
from experiments.session.seeded_random import shuffled
from experiments.views.problem_history import problem_turns
from storage.datasets.writers import picture_path
from storage.db.engine import Database
from storage.db.private_files import make_folder, writing
from storage.log.folded_sessions import analysed_sessions
from storage.registers.origins import Origin, origins
from storage.reports.conversations import Conversation
from storage.yaml_text import yaml_text

NULL, YES, NO = "null", "yes", "no"
NOTHING = "None of these"
POOL, FILE, STUDY, STEP = "conversations", "conversations.jsonl", "study.yaml", "label"
ID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class AnnotationField:
    name: str
    schema: Schema

    @property
    def options(self) -> Mapping[str, str]:
        """The closed list of values: as they are stored, and as people read them; empty where there is none."""
        if self._kind == "boolean":
            return {YES: "Yes", NO: "No"}
        listed = (self.schema["items"] if self._kind == "array" else self.schema).get("enum", ())
        return {self._option(value): NOTHING if value is None else _plain(str(value)) for value in listed}

    @property
    def compared(self) -> bool:
        """True if two raters can be said to agree on it: not on a list of free words."""
        return self._kind != "array" or bool(self.options)

    @property
    def closed(self) -> bool:
        """True for a closed list of single values, of which chance agreement can be computed."""
        return bool(self.options) and self._kind != "array"

    def question(self) -> dict[str, Any]:
        asked = {"name": self.name, "text": _plain(str(self.schema.get("description") or self.name))}
        if self._kind == "array":
            rest = {"type": "multiple_choice", "options": dict(self.options)} if self.options else {"type": "long_text"}
            return rest | asked | {"required": False}
        if self.options:
            return {"type": "single_choice", "options": dict(self.options)} | asked
        if self._kind in ("integer", "number"):
            ends = {name: self.schema[name] for name in ("minimum", "maximum") if name in self.schema}
            return {"type": "number", "integer": self._kind == "integer", "required": not self._may_lack} | ends | asked
        if self._kind == "string":
            return {"type": "short_text", "required": False} | asked
        raise AnnotatorUnknown(f"{self.name!r} cannot be shown as a form: it has the type {self._kind or 'any'!r}")

    def says(self, value: Any) -> str:
        """A value of the model's, or of a form's, as both are compared."""
        if value is None:
            return NULL if self.closed else ""
        if isinstance(value, list | tuple):
            return "; ".join(sorted(self._option(one) for one in value))
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return self._option(value) if self.options else " ".join(str(value).split()).casefold()

    @property
    def _kinds(self) -> Sequence[str]:
        kinds = self.schema.get("type", ())
        return [kinds] if isinstance(kinds, str) else list(kinds)

    @property
    def _may_lack(self) -> bool:
        return "null" in self._kinds

    @property
    def _kind(self) -> str:
        """Its type beside null; the form has one kind of box for each."""
        kinds = [kind for kind in self._kinds if kind != "null"]
        return kinds[0] if len(kinds) == 1 else "string" if "enum" in self.schema else ""

    def _option(self, value: Any) -> str:
        if value is None:
            return NULL
        return (YES if value else NO) if isinstance(value, bool) else str(value)


def fields(annotator: Annotator, conversations: Iterable[Conversation]) -> list[AnnotationField]:
    """The fields of an annotator's answers about these conversations; options that differ are put together."""
    found: dict[str, Schema] = {}
    for conversation in conversations:
        for name, part in parts(annotator.schema(conversation)).items():
            known = found.get(name, part)
            if "enum" in part:
                known = {**known, "enum": list(dict.fromkeys([*known["enum"], *part["enum"]]))}
            found[name] = known
    return [AnnotationField(name, _null_last(part)) for name, part in found.items()]


def _null_last(schema: Schema) -> Schema:
    return {**schema, "enum": sorted(schema["enum"], key=lambda one: one is None)} if "enum" in schema else schema


def public_id(secret: str, conversation: Conversation) -> str:
    """The id of a conversation in a sample, which looks random without the deployment's secret."""
    text = orjson.dumps(["sample", conversation.stream, *conversation.about])
    return f"c{hashlib.blake2b(text, key=secret.encode()[:64], digest_size=ID_DIGITS // 2).hexdigest()}"


def draw_sample(conversations: Sequence[Conversation], number: int, seed: str, secret: str) -> list[Conversation]:
    by_id = {public_id(secret, one): one for one in conversations}
    return [by_id[name] for name in shuffled(list(by_id), seed, "sample")[:number]]


def linked_picture(picture: Data) -> str:
    """Return the Markdown of a picture, whose file is in the label study's folder."""
    return f"![Picture, {picture['width']} x {picture['height']} pixels]({_picture_path(picture)})"


def _picture_path(picture: Data) -> str:
    return picture_path(picture["sha256"], picture["type"])


def write_sample(
    folder: Path,
    annotator: Annotator,
    conversations: Sequence[Conversation],
    secret: str,
    contents: PictureContents,
) -> Path:
    """Write the label study, its conversations and the pictures in them; the path of the study's file."""
    asked = [field.question() for field in fields(annotator, conversations)]
    problems = [_problem(public_id(secret, one), one, right=annotator.shows_right_answer) for one in conversations]
    make_folder(folder)
    with writing(folder / FILE) as file:
        file.write(b"\n".join(map(orjson.dumps, problems)) + b"\n")
    for conversation in conversations:
        paths = {one["sha256"]: folder / _picture_path(one) for one in conversation.pictures}
        for sha256, content in contents(conversation.stream, paths).items() if paths else ():
            make_folder(paths[sha256].parent)
            with writing(paths[sha256]) as file:
                file.write(content)
    path = folder / STUDY
    shown = any(one.question.text for one in conversations)
    raw = _study(annotator, asked, len(conversations), shown=shown)
    with writing(path) as file:
        file.write(yaml_text(raw).encode())
    return path


def _problem(name: str, conversation: Conversation, *, right: bool) -> dict[str, Any]:
    said = [{"role": one.role, "text": one.text} for one in conversation.said]
    return {"id": name, "text": _about(conversation, right=right), "dataset": "sample", "dialogue": said}


def _about(conversation: Conversation, *, right: bool) -> str:
    """The text that raters can unfold: the problem, and the right and the submitted answer if the model had them."""
    question = conversation.question
    if not question.text:
        return "(no problem)"
    options = "\n".join(f"- {key}. {text}" for key, text in question.options.items())
    known = [f"Right answer: {question.right}"] if right and question.right else []
    known += [f"The person submitted: {question.chosen}"] if right and question.chosen else []
    return "\n\n".join(part for part in (question.text, options, *known) if part)


def _study(annotator: Annotator, asked: Sequence[Mapping[str, Any]], number: int, *, shown: bool) -> dict[str, Any]:
    guide = _plain(annotator.guide())
    survey = {"step": "survey", "id": STEP, "title": "Read and judge", "show_problem": shown, "show_dialogue": True}
    return {
        "study": f"verify-{annotator.name}"[:60],
        "title": "Reading conversations",
        "telemetry": False,
        "problems": {POOL: {"source": "jsonl", "path": FILE}},
        "flow": [
            {
                "step": "info",
                "id": "instructions",
                "title": "Your task",
                "text": f"You read {number} conversations between a person and an AI assistant and answer the same "
                f"questions about each. Judge only by what the conversation shows.\n\n{guide}".strip(),
                "button": "Start",
            },
            {"each": "conversation", "of": POOL, "flow": [{**survey, "questions": list(asked)}]},
            {"step": "finish", "text": "You have judged all conversations, and everything is saved. Thank you."},
        ],
    }


def _plain(guide: str) -> str:
    """A model's instructions as a page's text: names in braces would be filled there."""
    return guide.replace("{{", "{ {")


@dataclass(frozen=True, slots=True)
class Label:
    """A form that a person sent about a problem; `rater` is the session's stream."""

    rater: str
    problem: str
    values: Mapping[str, Any]


def labels(database: Database, study: str, origin: str | None, step: str) -> Iterator[Label]:
    """The answers about problems in a step; people's, unless there are none. Excluded sessions are left out."""
    with database.connect() as connection:
        own = next((one for one in origins(connection, study, origin) if one != Origin.IMPORT), None)
    for session in analysed_sessions(database, study, own) if own else ():
        for unit in problem_turns(session.study, session.state):
            for done in unit.steps:
                if done.id == step and done.submitted is not None:
                    yield Label(session.stream, unit.problem.id, done.submitted.data)


@dataclass(frozen=True, slots=True)
class AnswerPairs:
    field: AnnotationField
    pairs: tuple[tuple[str, str, str, str], ...]
    """Each label's conversation, rater, annotation by the model, and answer of the rater."""


def compare_answers(
    database: Database,
    annotator: Annotator,
    conversations: Sequence[tuple[Conversation, Mapping[str, Any]]],
    study: tuple[str, str | None],
    secret: str,
) -> list[AnswerPairs]:
    """Every label of a label study (name and origin) with its annotation; raises AnnotatorUnknown without any."""
    known = {public_id(secret, one): (one, values) for one, values in conversations}
    given = [label for label in labels(database, *study, STEP) if label.problem in known]
    if not given:
        raise AnnotatorUnknown(f"none of these conversations has been labelled in {study[0]!r} yet")
    asked = fields(annotator, (known[label.problem][0] for label in given))
    by_key = [replace(label, values=annotator.by_keys(label.values, known[label.problem][0])) for label in given]
    return [AnswerPairs(field, tuple(_pairs(field, known, by_key))) for field in asked]


def _pairs(
    field: AnnotationField, known: Mapping[str, Any], labels: Iterable[Label]
) -> Iterator[tuple[str, str, str, str]]:
    for label in labels:
        values = known[label.problem][1]
        yield label.problem, label.rater, field.says(values.get(field.name)), field.says(label.values.get(field.name))
