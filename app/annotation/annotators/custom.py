"""An annotator of a study file or file of annotators: a prompt with a JSON schema, or one for a Parley annotator."""

from __future__ import annotations

from app.annotation.annotators.base import Annotator, question_of, quoted, transcript
from app.annotation.annotators.json_reply import Schema, Values
from experiments.study.sections.annotators import RIGHT, AnnotatorSpec
from experiments.study.texts import fill, names
from storage.reports.conversations import Conversation

PROBLEM = frozenset({"question", "problem", "options"})


class CustomAnnotator(Annotator):
    """An annotator with its own prompt. Without a schema in its definition, all else is as in the annotator `like`."""

    def __init__(self, name: str, spec: AnnotatorSpec, annotator: Annotator | None = None) -> None:
        self.name = name
        self.whole = annotator.whole if annotator is not None else spec.unit == "session"
        self.system, self.describe_format = spec.system, spec.describe_format
        self._annotator = annotator
        self.may_lack = annotator.may_lack if annotator is not None else {}
        self.one_word = annotator.one_word if annotator is not None else ""
        self.template = spec.prompt
        self.temperature, self.max_tokens = spec.temperature, spec.max_tokens
        self.shows_right_answer = bool({RIGHT, "chosen"} & set(names(spec.prompt)))
        self._spec, self._names = spec, frozenset(names(spec.prompt))

    def prompt(self, conversation: Conversation) -> str:
        question = conversation.question
        first = next((said.text for said in conversation.said if said.role == "user"), "")
        values = {
            "conversation": quoted(conversation),
            "transcript": transcript(conversation),
            "first_message": first,
            "question": question.text,
            "problem": question_of(conversation),
            "options": "\n".join(f"{key}. {text}" for key, text in question.options.items()),
            "chosen": question.chosen or "(nothing)",
            RIGHT: question.right or "",
        }
        return fill(self._spec.prompt, values.__getitem__).strip()

    def schema(self, conversation: Conversation) -> Schema:
        return self._annotator.schema(conversation) if self._annotator is not None else self._spec.answer_schema or {}

    def known(self, conversation: Conversation) -> Values | None:
        return self._annotator.known(conversation) if self._annotator is not None else None

    def tidied(self, values: Values, conversation: Conversation) -> Values:
        return self._annotator.tidied(values, conversation) if self._annotator is not None else values

    def contradiction(self, values: Values) -> str:
        return self._annotator.contradiction(values) if self._annotator is not None else ""

    def guide(self) -> str:
        return self._spec.instructions or (self._annotator.guide() if self._annotator is not None else "")

    def lacks(self, conversation: Conversation) -> str:
        if self._names & PROBLEM and not conversation.question.text:
            return "it belongs to no question that is known here"
        if RIGHT in self._names and conversation.question.right is None:
            return "the right answer of its question is not known"
        return self._annotator.lacks(conversation) if self._annotator is not None else ""
