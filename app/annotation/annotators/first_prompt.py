"""Labels for first prompts, from which follows whether a conversation mirrors the benchmark."""

from __future__ import annotations

from app.annotation.annotators.base import Annotator, of_object, one_of, question_of, quoted, yes_or_no
from app.annotation.annotators.json_reply import Schema, Values
from app.annotation.annotators.registry import annotator
from storage.reports.conversations import Conversation

GUIDE = """\
A participant of a study was asked a multiple-choice question and could talk with an AI chatbot about it, which did \
not see the question. Label the conversation.

The first substantive prompt is the user's first message that is about the question; greetings are passed over. The \
first question is what the user first asked the chatbot about it: "near-exact" is the question as it stands or nearly \
so, with or without its options; "component" is a part of it, or a step or a term that it needs; "misinterpretation" \
is another question that they took it for; "other" is any other question about it. There is none if they asked nothing.

An AI answer is one to the whole question; it is correct if it is the right answer given below."""


@annotator("first_prompt")
class FirstPrompt(Annotator):
    """First prompts: how the first prompt relates to the question, how the AI answered, and who corrected whom.

    The labels are those of ChatBench's Listing 5. The prompt has the correct answer. A conversation mirrors the
    benchmark if the first question is near-exact, the AI answers, and the user submits that answer.
    """

    shows_right_answer = True

    def lacks(self, conversation: Conversation) -> str:
        """It needs the correct answer of the question, to judge the AI's answers."""
        question = conversation.question
        return "" if question.options and question.right else "the right answer of its question is not known"

    def prompt(self, conversation: Conversation) -> str:
        question = conversation.question
        right, chosen = f"The right answer: {question.right}", f"The user submitted: {question.chosen or 'nothing'}"
        talk = f"The conversation:\n{quoted(conversation)}"
        return f"{GUIDE}\n\nThe question:\n{question_of(conversation)}\n{right}\n\n{talk}\n\n{chosen}"

    def schema(self, conversation: Conversation) -> Schema:
        first = one_of("question", "statement", "other", about="What is the user's first substantive prompt?")
        kinds = ("near-exact", "component", "misinterpretation", "other", None)
        return of_object(
            first_prompt=first,
            first_question=one_of(*kinds, about="How does the user's first question relate to the question?"),
            first_answer=one_of("correct", "incorrect", "none", about="Is the AI's first answer correct?"),
            last_answer=one_of("correct", "incorrect", "none", about="Is the AI's last answer correct?"),
            several_answers=yes_or_no("Did the AI give more than one answer?"),
            ai_corrects_user=yes_or_no("Did the AI correct the user?"),
            user_corrects_ai=yes_or_no("Did the user correct the AI?"),
            unusual=yes_or_no("Is anything about the conversation unusual?"),
            what_unusual={"type": ["string", "null"], "description": "What is unusual, if anything is."},
        )

    def contradiction(self, values: Values) -> str:
        """Without a first answer there can be no last answer, and not several."""
        none = values["first_answer"] == "none"
        if none != (values["last_answer"] == "none") or (none and values["several_answers"]):
            return "it says of the AI that it answered and that it did not"
        return ""

    def guide(self) -> str:
        return GUIDE
