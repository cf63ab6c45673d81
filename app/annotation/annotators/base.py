"""The interface of an annotator: a question to a model about a finished conversation, and strict parsing of the reply.

An annotator decides which conversations it can judge (`lacks`), which results need no call (`known`), the prompt
(`prompt`) and the JSON schema of the answer (`schema`). A prompt contains no more than it needs: only annotators that
compare with the correct answer include it. Text of the conversation is quoted, and placeholders in it are not filled.
ChatBench's own prompts are in experiments/instruments/chatbench_prompts.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from app.annotation.annotators.json_reply import Schema, UnparsableReply, Values, read_object
from app.backends.base import PromptMessage, Request, prompt_pictures
from app.backends.model_ref import ModelRef
from app.batch.task import Prompt, key_of, request_parts
from storage.reports.conversations import Conversation, Talk

SPEAKERS = MappingProxyType({"user": "USER", "bot": "AI"})
RULE = "=" * 20
ONLY_JSON = "Reply with one JSON object and nothing else; null stands for what there is not. Its keys are:"
# ChatBench's default (`DEFAULT_MAX_TOKENS`).
MAX_TOKENS = 1000
# So many pictures of a conversation a model is shown, the newest.
MOST_PICTURES = 20
# Reads pictures of a session by their SHA-256.
PictureContents = Callable[[str, Collection[str]], Mapping[str, bytes]]


class Annotator(ABC):
    """A kind of annotation; subclasses are registered by name. The docstring is its documentation, with its source."""

    name: str = ""
    whole: bool = False
    """True if it annotates all conversations of a session together."""
    shows_right_answer: bool = False
    """True if the prompt contains the correct and the submitted answer; people who verify it then see them too."""
    temperature: float = 0.0
    """ChatBench sets 0 for the extraction of answers and nothing for the others; 0 makes replies repeatable."""
    max_tokens: int = MAX_TOKENS
    system: str = ""
    describe_format: bool = True
    """False if the prompt itself describes the format of the answer, so that the description is not added."""
    may_lack: Values = MappingProxyType({})
    """The keys that a reply may leave out, with the values that they then have."""
    one_word: str = ""
    """The key whose value may be the whole reply, without JSON; empty for none."""
    template: str = ""

    @abstractmethod
    def prompt(self, conversation: Conversation) -> str:
        """The prompt, to which the description of the answer's format is added unless it contains that."""

    @abstractmethod
    def schema(self, conversation: Conversation) -> Schema:
        """The JSON schema of the answer; each property's `description` is shown to models and to people."""

    def lacks(self, conversation: Conversation) -> str:
        """Return the reason why it cannot judge this conversation; empty if it can."""
        return ""

    def known(self, conversation: Conversation) -> Values | None:
        """The annotation, where it is known without a call to a model; else None."""
        return None

    def tidied(self, values: Values, conversation: Conversation) -> Values:
        """The values of a reply in the form of the schema, where a model's own form says the same."""
        return values

    def by_keys(self, values: Values, conversation: Conversation) -> Values:
        """The values with the keys of options in place of the letters under which they were shown."""
        return values

    def contradiction(self, values: Values) -> str:
        """The contradiction within an answer; empty if there is none."""
        return ""

    def guide(self) -> str:
        """The instructions for people who verify it, as in the prompt; by default only its questions are shown."""
        return ""

    def cell(
        self, conversation: Conversation, model: ModelRef, contents: PictureContents = lambda _, __: {}
    ) -> AnnotationCell:
        return AnnotationCell(self, conversation, model, contents)

    def question(self, conversation: Conversation, model: ModelRef) -> Prompt:
        schema = self.schema(conversation)
        text = self.prompt(conversation)
        messages = (PromptMessage("user", f"{text}\n\n{shape(schema)}" if self.describe_format else text),)
        request = Request(
            model=model.name,
            messages=(PromptMessage("system", self.system), *messages) if self.system else messages,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            options=model.model.options,
            schema=schema if self.describe_format or not self.one_word else None,
        )
        return Prompt(model, request)

    def read(self, text: str, conversation: Conversation) -> Values | UnparsableReply:
        schema = self.schema(conversation)
        if self.one_word and (word := plain_word(text)) in parts(schema)[self.one_word]["enum"]:
            return {self.one_word: word}
        needed = [name for name in schema.get("required", ()) if name not in self.may_lack]
        found = read_object(text, {**schema, "required": needed}, lambda values: self.tidied(values, conversation))
        if isinstance(found, UnparsableReply):
            return found
        values = {**self.may_lack, **found}
        fault = self.contradiction(values)
        return UnparsableReply(fault) if fault else self.by_keys(values, conversation)


@dataclass(frozen=True)
class AnnotationCell:
    """One model's call about one conversation; the prompt is built just before the call."""

    annotator: Annotator
    conversation: Conversation
    asked: ModelRef
    contents: PictureContents
    samples: int = 1
    steps: int = 1

    @cached_property
    def key(self) -> str:
        """The key of the call. It includes the conversation's id besides its text, so that a withdrawal deletes the
        replies about that participant and no others."""
        question = self.annotator.question(self.conversation, self.asked)
        about = self.conversation.stream, *self.conversation.about, *self._hashes
        return key_of("annotation", self.annotator.name, about, request_parts(question))

    def next(self, texts: Sequence[str]) -> Prompt | None:
        prompt = self.annotator.question(self.conversation, self.asked)
        if self._hashes and not texts:
            pictures = prompt_pictures(
                self.conversation.pictures, self.contents(self.conversation.stream, self._hashes)
            )
            *others, last = prompt.request.messages
            messages = (*others, replace(last, pictures=pictures[-MOST_PICTURES:]))
            prompt = replace(prompt, request=replace(prompt.request, messages=messages))
        return None if texts else prompt

    @property
    def _hashes(self) -> tuple[str, ...]:
        """The pictures of the conversation, for a model that sees them; others read that there are some."""
        sees = "image" in (self.asked.model.sees or ())
        return tuple(one["sha256"] for one in self.conversation.pictures) if sees else ()


def shape(schema: Schema) -> str:
    """The format of an answer in words, for models without support for schemas."""
    lines = (f'- "{name}": {allowed(part)}. {part.get("description", "")}' for name, part in parts(schema).items())
    return "\n".join([ONLY_JSON, *(line.rstrip() for line in lines)])


def plain_word(text: str) -> str:
    """A reply without the quotation marks, emphasis and full stop that models put around a word, in small letters."""
    return text.strip(" \t\r\n\"'`*.“”‘’").lower()


def parts(schema: Schema) -> Mapping[str, Schema]:
    found: Mapping[str, Schema] = schema["properties"]
    return found


def allowed(schema: Schema) -> str:
    if "enum" in schema:
        return " or ".join("null" if value is None else f'"{value}"' for value in schema["enum"])
    kinds = schema.get("type", "any value")
    words = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    return f"{words} of {allowed(schema['items'])}" if "items" in schema else words


def of_object(**properties: Schema) -> Schema:
    own = {"type": "object", "properties": properties, "required": list(properties)}
    return {**own, "additionalProperties": False}


def one_of(*values: Any, about: str) -> Schema:
    kinds = ["string", "null"] if None in values else "string"
    return {"type": kinds, "enum": list(values), "description": about}


def yes_or_no(about: str) -> Schema:
    return {"type": "boolean", "description": about}


def quoted(conversation: Conversation) -> str:
    """The conversation between two rulers, each message with its number and sender."""
    return "\n\n".join(_quoted(talk) for talk in conversation.talks)


def _quoted(talk: Talk) -> str:
    said = (f"[{number}] {SPEAKERS[one.role]}: {one.text}" for number, one in enumerate(talk, 1))
    return "\n".join([RULE, "\n\n".join(said), RULE])


def transcript(conversation: Conversation) -> str:
    """The conversation as ChatBench's annotators quote it: a line for each message, with its sender."""
    return "\n".join(f"{'Person' if one.role == 'user' else 'System'}: {one.text}" for one in conversation.said)


def question_of(conversation: Conversation) -> str:
    """The problem with its options, as the participant saw it."""
    question = conversation.question
    return "\n".join([question.text, *(f"{key}. {text}" for key, text in question.options.items())])
