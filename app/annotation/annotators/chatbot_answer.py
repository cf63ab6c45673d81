"""The chatbot's answer, extracted from a conversation: ChatBench's second annotation."""

from __future__ import annotations

from types import MappingProxyType

from app.annotation.annotators.base import Annotator, of_object, one_of, question_of, transcript, yes_or_no
from app.annotation.annotators.json_reply import Schema, Values
from app.annotation.annotators.registry import annotator
from experiments.instruments.chatbench_prompts import CHATBOT_ANSWER, HELPER
from experiments.study.texts import fill
from storage.reports.conversations import Conversation

GUIDE = """\
Did the chatbot give a final answer to the question, and which one? The chatbot did not see the question unless the \
user wrote it. Do not solve the question yourself. Look only at what the chatbot said: whether it is right does not \
matter."""


@annotator("answer")
class ChatbotAnswer(Annotator):
    """The chatbot's answer: whether it attempted one, its value, and the option that it chose.

    Both prompts are those of ChatBench's code (`extract_answer_from_conversation` in analyze_results.py), with
    temperature 0 and without the correct answer. A reply without `answer_val` and `answer_letter` has none.
    """

    system, describe_format, template = HELPER, False, CHATBOT_ANSWER
    may_lack = MappingProxyType({"answer_val": None, "answer_letter": None})

    def lacks(self, conversation: Conversation) -> str:
        return "" if conversation.question.options else "it belongs to no question with options that is known here"

    def prompt(self, conversation: Conversation) -> str:
        values = {"question": question_of(conversation), "transcript": transcript(conversation)}
        return fill(CHATBOT_ANSWER, values.__getitem__)

    def schema(self, conversation: Conversation) -> Schema:
        value = "The chatbot's last answer as it gave it, if it gave one."
        letter = "The option that the chatbot's last answer is, if it is one."
        return of_object(
            attempted_answer=yes_or_no("Does the conversation provide a final answer to the question?"),
            answer_val={"type": ["string", "null"], "description": value},
            answer_letter=one_of(*conversation.question.options, None, about=letter),
        )

    def tidied(self, values: Values, conversation: Conversation) -> Values:
        """Store a number as text and a letter only if an option has it; without a final answer neither."""
        answered = values.get("attempted_answer") is not False
        value, letter = values.get("answer_val"), values.get("answer_letter")
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if isinstance(letter, str):
            plain = letter.strip(" ().").upper()
            letter = next((key for key in conversation.question.options if key.upper() == plain), None)
        found = {"answer_val": value or None, "answer_letter": letter}
        return {**values, **({name: found[name] if answered else None for name in found if name in values})}

    def by_keys(self, values: Values, conversation: Conversation) -> Values:
        letter = values.get("answer_letter")
        return {**values, "answer_letter": conversation.question.keys.get(str(letter), letter)}

    def guide(self) -> str:
        return GUIDE
