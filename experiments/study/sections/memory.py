"""The memory of a study's models of a person's earlier waves."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from experiments.study.base_model import StrictModel
from experiments.study.sections.model_spec import ONE_OR_EACH, PickByFactor

MemoryKind = Literal["none", "transcript", "summary", "facts"]
# The kinds that a model makes.
MADE: frozenset[MemoryKind] = frozenset({"summary", "facts"})
SUMMARY = (
    "You keep an assistant's notes. You are given its earlier conversations with one person. Summarize in at most 200 "
    "words, in their language, what it needs to know when it talks with this person again: who the person is, what was "
    "asked for, what came of it, what is still open. Write nothing that the conversations do not say."
)
FACTS = (
    "You keep an assistant's notes. You are given what it knows about one person, and new conversations with this "
    "person. List, in their language, what else it should know when it talks with this person again: short statements "
    "about the person, one a line, the most important first. Write nothing that is known already or that the "
    "conversations do not say. If there is nothing to add, write NONE."
)


class MemoryByFactor(PickByFactor[MemoryKind]):
    """A kind of memory for each value of a factor."""


class MemorySpec(StrictModel):
    """The memory of `chat` and `compare` of a person's conversations in earlier waves; a part of the system prompts."""

    kind: Annotated[Annotated[MemoryKind, Tag("one")] | Annotated[MemoryByFactor, Tag("each")], ONE_OR_EACH]
    """`none`, `transcript`: the conversations word for word, `summary`: what a model makes of them, or `facts`:
    statements that a model proposes and the participant confirms, changes or deletes in the step `facts`. Or one for
    each value of a factor, `{by: memory, pick: {none: none, full: transcript}}`."""
    max_chars: Annotated[int, Field(ge=100, le=200_000)] = 8_000
    """The most characters of it in a prompt; about four are a token. The oldest messages and statements are left out
    first, and the end of a summary."""
    model: str = ""
    """The study's model that summarizes (from at most 60,000 characters, the newest) and proposes statements (at most
    8)."""
    summary_prompt: str = SUMMARY
    """The system prompt for summaries."""
    facts_prompt: str = FACTS
    """The system prompt for statements; each line of the reply is one."""
    time_limit_s: Annotated[float, Field(gt=0, le=300)] = 60
    """The time limit of that, all attempts together. After it nothing is remembered, which is recorded."""
    intro: str = "This is what you remember of earlier conversations with the same person:"
    """The line above it in a prompt."""

    @property
    def kinds(self) -> frozenset[MemoryKind]:
        return frozenset(self.kind.pick.values() if isinstance(self.kind, MemoryByFactor) else [self.kind])
