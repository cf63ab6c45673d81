"""How much effort the participant made to get help: ChatBench's first annotation."""

from __future__ import annotations

from app.annotation.annotators.base import Annotator, of_object, one_of, question_of, quoted
from app.annotation.annotators.json_reply import Schema
from app.annotation.annotators.registry import annotator
from storage.reports.conversations import Conversation

GUIDE = """\
A participant of a study was asked a question and could talk with an AI chatbot about it. How much did they try to get \
help with the question?

- "tried": they wrote at least one message that could help them with the question, however short or clumsy.
- "known": they let the chatbot know that they had the answer already and wanted no help, or only wanted it confirmed.
- "low effort": they wrote only what could not help, such as a greeting, a random word or something off the subject."""


@annotator("user_effort")
class UserEffort(Annotator):
    """Effort: `tried`, `known` (the participant already had the answer) or `low effort`.

    The labels are those of ChatBench's release. The prompt is ours: ChatBench's is printed on the card of the dataset
    (microsoft/ChatBench, revision 068a02a), and is not in the published code. To use it, copy it from there into the
    study: `annotators: {user_effort: {prompt: ...}}`.
    """

    def prompt(self, conversation: Conversation) -> str:
        """The labels, the question without its correct answer, and the conversation."""
        asked = f"\n\nThe question:\n{question_of(conversation)}" if conversation.question.text else ""
        return f"{GUIDE}{asked}\n\nThe conversation:\n{quoted(conversation)}"

    def schema(self, conversation: Conversation) -> Schema:
        """The label."""
        about = "How much did the participant try to get help with the question?"
        return of_object(user_effort=one_of("tried", "known", "low effort", about=about))

    def guide(self) -> str:
        """The labels."""
        return GUIDE
