"""ChatBench's simulated users: in two steps, and IQA-EVAL's, with which it compares them.

Chang, Anderson, Hofman: ChatBench. ACL 2025, section 5 and appendix B.4 (generate_conversations.py). What the model is
asked is in experiments/study/sections/two_step_simulator.py. Li et al.: IQA-EVAL. NeurIPS 2024.
"""

from __future__ import annotations

import re

from app.bots.users.base import Ask, UserAction
from app.bots.users.chat_user import ChatTask, ChatUser
from app.bots.users.registry import user
from experiments.study.sections import two_step_simulator as prompts
from experiments.study.sections.two_step_simulator import Prompt

ANSWERED = re.compile(r"so,? the answer is:?\s*(.+)", re.IGNORECASE)


@user("two_step", model=True)
class TwoStep(ChatUser):
    """ChatBench's two-step simulator: a first message, then in each step the next message or the answer."""

    def first(self, chat: ChatTask) -> Prompt:
        return prompts.first(chat.question, self.prompts)

    def following(self, chat: ChatTask) -> Prompt:
        return prompts.following(chat.question, chat.said, self.prompts, may_answer=chat.may_leave)

    def last(self, chat: ChatTask) -> Prompt:
        return prompts.last(chat.question, chat.said, self.prompts)


@user("two_step_problem", model=True)
class TwoStepProblem(TwoStep):
    """The two-step simulator whose first message must include the problem."""

    def first(self, chat: ChatTask) -> Prompt:
        return prompts.first(chat.question, self.prompts, with_problem=True)


@user("two_step_help", model=True)
class TwoStepHelp(TwoStep):
    """The two-step simulator whose first message is fixed: it asks for help with the first step."""

    async def begin(self, chat: ChatTask, ask: Ask) -> UserAction:
        return chat.say(prompts.filled(self.prompts.help_message, chat.question)[: chat.max_chars])


@user("iqa_eval", model=True)
class IqaEval(ChatUser):
    """IQA-EVAL's simulator: one system message, one sub-question a turn, "So, the answer is: X"."""

    def first(self, chat: ChatTask) -> Prompt:
        return prompts.iqa_eval(chat.question, (), self.prompts)

    def following(self, chat: ChatTask) -> Prompt:
        return prompts.iqa_eval(chat.question, chat.said, self.prompts)

    def last(self, chat: ChatTask) -> Prompt:
        return prompts.iqa_eval(chat.question, chat.said, self.prompts, must_answer=True)

    def answer_in(self, reply: str) -> str | None:
        found = ANSWERED.search(reply)
        return found[1].strip().rstrip(".").strip() if found else None
