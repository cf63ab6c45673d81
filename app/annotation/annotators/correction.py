"""Whether the user corrected the chatbot."""

from __future__ import annotations

from app.annotation.annotators.base import Annotator, of_object, quoted, yes_or_no
from app.annotation.annotators.json_reply import Schema, Values
from app.annotation.annotators.registry import annotator
from storage.reports.conversations import Conversation

SHORT = 2
GUIDE = """\
Below is a conversation between a user and an AI chatbot. Did the user correct the chatbot: point out a mistake in \
what it had said, or contradict it with what they held to be right? To ask again, to ask for an explanation or to \
doubt ("are you sure?") is no correction."""


@annotator("corrected")
class Corrected(Annotator):
    """Corrections: whether the user corrected the chatbot, and how.

    As in ChatBench's code, conversations of at most two messages are annotated as false without a call to a model.
    """

    def prompt(self, conversation: Conversation) -> str:
        """The conversation alone."""
        return f"{GUIDE}\n\nThe conversation:\n{quoted(conversation)}"

    def schema(self, conversation: Conversation) -> Schema:
        """Whether there is a correction, and the list of corrections."""
        listed = {"type": "array", "items": {"type": "string"}}
        return of_object(
            corrected=yes_or_no("Did the user correct the chatbot?"),
            corrections={**listed, "description": "Each correction in the user's words; empty if there is none."},
        )

    def known(self, conversation: Conversation) -> Values | None:
        """False after a single exchange, in which nothing can have been corrected."""
        return {"corrected": False, "corrections": []} if len(conversation.said) <= SHORT else None

    def contradiction(self, values: Values) -> str:
        """A conversation with a correction must list at least one."""
        if values["corrected"] != bool(values["corrections"]):
            return "`corrected` and the list of `corrections` contradict each other"
        return ""

    def guide(self) -> str:
        """The definition of a correction."""
        return GUIDE
