"""What an annotator is: a question about a finished conversation, and the strict reading of the reply.

An annotator says which conversations it can judge (`lacks`), what is known of one without asking (`known`), what a
model is asked (`prompt`) and what shape the answer has (`schema`). It is given no more than it needs: only one that
compares with the right answer names it in its prompt. What the conversation says is quoted, never filled in again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from app.annotation.annotators.json_reply import Schema, UnparsableReply, Values, read_object
from app.backends.base import PromptMessage, Request
from app.backends.model_ref import ModelRef
from app.batch.task import Prompt, key_of, request_parts
from storage.reports.conversations import Conversation, Talk

SPEAKERS = MappingProxyType({"user": "USER", "bot": "AI"})
RULE = "=" * 20
ONLY_JSON = "Reply with one JSON object and nothing else; null stands for what there is not. Its keys are:"
MAX_TOKENS = 1000
"""ChatBench's default (`DEFAULT_MAX_TOKENS`)."""


class Annotator(ABC):
    """A kind of annotation; a subclass is registered by its name. Its docstring says what it is for, and its source."""

    name: str = ""
    whole: bool = False
    """Whether it is about all conversations of a session together."""
    told_right: bool = False
    """Whether it is told the right answer and what was submitted; so are then people who verify it."""
    temperature: float = 0.0
    """Seeds 1.8 gives 0 for the extraction of answers, and nothing for the others; 0 can be repeated."""
    max_tokens: int = MAX_TOKENS

    @abstractmethod
    def prompt(self, conversation: Conversation) -> str:
        """What a model is asked; without the shape of the answer, which is told after it."""

    @abstractmethod
    def schema(self, conversation: Conversation) -> Schema:
        """The JSON schema of the answer; each property's `description` says what it tells, to models and to people."""

    def lacks(self, conversation: Conversation) -> str:
        """Why it cannot judge this conversation; nothing where it can."""
        return ""

    def known(self, conversation: Conversation) -> Values | None:
        """What is so without asking anybody."""
        return None

    def contradiction(self, values: Values) -> str:
        """What in an answer contradicts itself."""
        return ""

    def guide(self) -> str:
        """What people who verify it are told, as the model is: nothing but what its questions say unless given."""
        return ""

    def cell(self, conversation: Conversation, asked: ModelRef) -> AnnotationCell:
        """What this model is asked about this conversation."""
        return AnnotationCell(self, conversation, asked)

    def question(self, conversation: Conversation, asked: ModelRef) -> Prompt:
        """The one call."""
        schema = self.schema(conversation)
        text = f"{self.prompt(conversation)}\n\n{shape(schema)}"
        request = Request(
            model=asked.name,
            messages=(PromptMessage("user", text),),
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            options=asked.model.options,
            schema=schema,
        )
        return Prompt(asked, request)

    def read(self, text: str, conversation: Conversation) -> Values | UnparsableReply:
        """What a reply says; strictly."""
        values = read_object(text, self.schema(conversation))
        if isinstance(values, UnparsableReply):
            return values
        fault = self.contradiction(values)
        return UnparsableReply(fault) if fault else values


@dataclass(frozen=True)
class AnnotationCell:
    """What one model is asked about one conversation: a single call, whose prompt is made as it is asked."""

    annotator: Annotator
    conversation: Conversation
    asked: ModelRef
    samples: int = 1
    steps: int = 1

    @cached_property
    def key(self) -> str:
        """Of the conversation too, not of its words alone: who withdraws takes their replies along, and no others."""
        question = self.annotator.question(self.conversation, self.asked)
        about = self.conversation.stream, *self.conversation.about
        return key_of("annotation", self.annotator.name, about, request_parts(question))

    def next(self, texts: Sequence[str]) -> Prompt | None:
        """The one question."""
        return None if texts else self.annotator.question(self.conversation, self.asked)


def shape(schema: Schema) -> str:
    """The shape of an answer in words, for models that cannot be held to a schema."""
    lines = (f'- "{name}": {allowed(part)}. {part.get("description", "")}' for name, part in parts(schema).items())
    return "\n".join([ONLY_JSON, *(line.rstrip() for line in lines)])


def parts(schema: Schema) -> Mapping[str, Schema]:
    """The properties of an answer."""
    found: Mapping[str, Schema] = schema["properties"]
    return found


def allowed(part: Schema) -> str:
    """What may stand in a field, in words."""
    if "enum" in part:
        return " or ".join("null" if value is None else f'"{value}"' for value in part["enum"])
    kinds = part.get("type", "any value")
    words = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    return f"{words} of {allowed(part['items'])}" if "items" in part else words


def of_object(**properties: Schema) -> Schema:
    """A schema of these properties, all of which must be there, and no other."""
    own = {"type": "object", "properties": properties, "required": list(properties)}
    return {**own, "additionalProperties": False}


def one_of(*values: Any, about: str) -> Schema:
    """A property with a closed list of values."""
    kinds = ["string", "null"] if None in values else "string"
    return {"type": kinds, "enum": list(values), "description": about}


def yes_or_no(about: str) -> Schema:
    """A property that is true or false."""
    return {"type": "boolean", "description": about}


def quoted(conversation: Conversation) -> str:
    """The conversation between rules, each message with its number and its sender."""
    return "\n\n".join(_quoted(talk) for talk in conversation.talks)


def _quoted(talk: Talk) -> str:
    said = (f"[{number}] {SPEAKERS[one.role]}: {one.text}" for number, one in enumerate(talk, 1))
    return "\n".join([RULE, "\n\n".join(said), RULE])


def question_of(conversation: Conversation) -> str:
    """The problem with its options, as the participant had it on the screen."""
    question = conversation.question
    return "\n".join([question.text, *(f"{key}. {text}" for key, text in question.options.items())])
