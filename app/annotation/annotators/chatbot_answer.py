"""The chatbot's answer, extracted from a conversation: ChatBench's second annotation."""

from __future__ import annotations

from app.annotation.annotators.base import Annotator, of_object, one_of, question_of, quoted, yes_or_no
from app.annotation.annotators.json_reply import Schema, Values
from app.annotation.annotators.registry import annotator
from storage.reports.conversations import Conversation

GUIDE = """\
Below are a multiple-choice question and a conversation between a user and an AI chatbot, which did not see the \
question unless the user told it. Did the chatbot try to answer the question, and if so, what was its last answer?

Do not solve the question yourself. Look only at what the chatbot said: whether it is right does not matter."""


@annotator("answer")
class ChatbotAnswer(Annotator):
    """The chatbot's answer: whether it attempted one, its value, and the option that it chose.

    Like ChatBench's `extract_answer_from_conversation`: temperature 0, JSON with these three keys, and no correct
    answer in the prompt.
    """

    def lacks(self, conversation: Conversation) -> str:
        """It needs a question with options."""
        return "" if conversation.question.options else "it belongs to no question with options that is known here"

    def prompt(self, conversation: Conversation) -> str:
        """The question with its options, without the correct one, and the conversation."""
        return f"{GUIDE}\n\nThe question:\n{question_of(conversation)}\n\nThe conversation:\n{quoted(conversation)}"

    def schema(self, conversation: Conversation) -> Schema:
        """The three fields of the release."""
        value = "The chatbot's last answer as it gave it, if it gave one."
        letter = "The option that the chatbot's last answer is, if it is one."
        return of_object(
            attempted_answer=yes_or_no("Did the chatbot try to answer the question?"),
            answer_val={"type": ["string", "null"], "description": value},
            answer_letter=one_of(*conversation.question.options, None, about=letter),
        )

    def contradiction(self, values: Values) -> str:
        """Without an attempt there is no answer."""
        if not values["attempted_answer"] and (values["answer_val"], values["answer_letter"]) != (None, None):
            return "it says that no answer was attempted, and gives one"
        return ""

    def guide(self) -> str:
        """The instructions."""
        return GUIDE
