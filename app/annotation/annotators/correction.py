"""Corrections of the chatbot by the user."""

from __future__ import annotations

from types import MappingProxyType

from app.annotation.annotators.base import Annotator, of_object, question_of, transcript, yes_or_no
from app.annotation.annotators.json_reply import Schema, Values
from app.annotation.annotators.registry import annotator
from experiments.instruments.chatbench_prompts import CORRECTED, CORRECTED_WITHOUT_QUESTION, HELPER
from experiments.study.texts import fill
from storage.reports.conversations import Conversation

SHORT = 2
GUIDE = """\
Did the user correct the chatbot: point out a mistake in what it had said, or contradict it with what they held to be \
right? To ask again, to ask for an explanation or to doubt ("are you sure?") is no correction."""


@annotator("corrected")
class Corrected(Annotator):
    """Corrections: whether the user corrected the chatbot, and how.

    Both prompts are those of ChatBench's code (`classify_if_user_corrected_model` in analyze_results.py); a
    conversation about no question has the same without its first part. Conversations of at most two messages are
    annotated as false without a call.
    """

    system, describe_format, template = HELPER, False, CORRECTED
    may_lack = MappingProxyType({"corrections": []})

    def prompt(self, conversation: Conversation) -> str:
        values = {"question": question_of(conversation), "transcript": transcript(conversation)}
        return fill(CORRECTED if conversation.question.text else CORRECTED_WITHOUT_QUESTION, values.__getitem__)

    def schema(self, conversation: Conversation) -> Schema:
        listed = {"type": "array", "items": {"type": "string"}}
        return of_object(
            corrected=yes_or_no("Did the user correct the chatbot?"),
            corrections={**listed, "description": "Each correction in the user's words; empty if there is none."},
        )

    def known(self, conversation: Conversation) -> Values | None:
        """False after a single exchange, in which nothing can have been corrected."""
        return {"corrected": False, "corrections": []} if len(conversation.said) <= SHORT else None

    def contradiction(self, values: Values) -> str:
        if values["corrected"] != bool(values["corrections"]):
            return "`corrected` and the list of `corrections` contradict each other"
        return ""

    def guide(self) -> str:
        return GUIDE
