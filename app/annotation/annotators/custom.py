"""An annotator that is defined in a study file or a file of annotators, by a prompt and a JSON schema."""

from __future__ import annotations

from app.annotation.annotators.base import Annotator, question_of, quoted
from app.annotation.annotators.json_reply import Schema
from experiments.study.annotators import RIGHT, AnnotatorSpec
from experiments.study.template import fill, names
from storage.reports.conversations import Conversation

PROBLEM = frozenset({"question", "problem", "options"})


class CustomAnnotator(Annotator):
    """An annotator with its own prompt and schema."""

    def __init__(self, name: str, told: AnnotatorSpec) -> None:
        self.name = name
        self.whole = told.unit == "session"
        self.temperature, self.max_tokens = told.temperature, told.max_tokens
        self.told_right = bool({RIGHT, "chosen"} & set(names(told.prompt)))
        self._told, self._names = told, frozenset(names(told.prompt))

    def prompt(self, conversation: Conversation) -> str:
        """The prompt with its placeholders filled. Placeholders in quoted text are not filled."""
        question = conversation.question
        first = next((said.text for said in conversation.said if said.role == "user"), "")
        values = {
            "conversation": quoted(conversation),
            "first_message": first,
            "question": question.text,
            "problem": question_of(conversation),
            "options": "\n".join(f"{key}. {text}" for key, text in question.options.items()),
            "chosen": question.chosen or "(nothing)",
            RIGHT: question.right or "",
        }
        return fill(self._told.prompt, values.__getitem__).strip()

    def schema(self, conversation: Conversation) -> Schema:
        """The schema in its definition."""
        return self._told.answer_schema

    def guide(self) -> str:
        """The instructions in its definition."""
        return self._told.instructions

    def lacks(self, conversation: Conversation) -> str:
        """The conversation must have what the prompt's placeholders need."""
        if self._names & PROBLEM and not conversation.question.text:
            return "it belongs to no question that is known here"
        if RIGHT in self._names and conversation.question.right is None:
            return "the right answer of its question is not known"
        return ""
