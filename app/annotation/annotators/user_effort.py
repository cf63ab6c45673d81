"""The participant's effort to get help: ChatBench's first annotation."""

from __future__ import annotations

from app.annotation.annotators.base import Annotator, of_object, one_of, question_of, transcript
from app.annotation.annotators.json_reply import Schema
from app.annotation.annotators.registry import annotator
from experiments.instruments.chatbench_prompts import EFFORT, EFFORT_WITHOUT_QUESTION, HELPER
from experiments.study.texts import fill
from storage.reports.conversations import Conversation

GUIDE = """\
How much did the person try to get help with the question?

- "tried": the person tried to use AI to help them answer the question.
- "known": the person already knew the answer, so they didn't need AI's help.
- "low effort": the person did not put in effort to answer the question."""


@annotator("user_effort")
class UserEffort(Annotator):
    """Effort: `tried`, `known` (the participant already had the answer) or `low effort`, by the instruction of
    ChatBench's dataset card."""

    system, describe_format, one_word = HELPER, False, "user_effort"
    template = EFFORT

    def prompt(self, conversation: Conversation) -> str:
        values = {"question": question_of(conversation), "transcript": transcript(conversation)}
        return fill(EFFORT if conversation.question.text else EFFORT_WITHOUT_QUESTION, values.__getitem__)

    def schema(self, conversation: Conversation) -> Schema:
        about = "How much did the person try to get help with the question?"
        return of_object(user_effort=one_of("tried", "known", "low effort", about=about))

    def guide(self) -> str:
        return GUIDE
