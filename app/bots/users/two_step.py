"""ChatBench's two-step users: one prompt for the first message, another for each further step.

Chang, Anderson, Hofman: ChatBench. ACL 2025, section 5 and appendix B.4 (generate_conversations.py). What the model is
asked is in experiments/study/sections/two_step_simulator.py.
"""

from __future__ import annotations

from app.bots.users.base import Ask, UserAction
from app.bots.users.chat_user import ChatTask, ChatUser
from app.bots.users.registry import user
from experiments.study.sections import two_step_simulator as prompts
from experiments.study.sections.two_step_simulator import Prompt


@user("two_step", model=True)
class TwoStep(ChatUser):
    """ChatBench's two-step simulator: a first message, then in each step the next message or the answer."""

    def first(self, talk: ChatTask) -> Prompt:
        return prompts.first(talk.question, self.prompts)

    def following(self, talk: ChatTask) -> Prompt:
        return prompts.following(talk.question, talk.said, self.prompts, may_answer=talk.may_leave)

    def last(self, talk: ChatTask) -> Prompt:
        return prompts.last(talk.question, talk.said, self.prompts)


@user("two_step_problem", model=True)
class TwoStepProblem(TwoStep):
    """The two-step simulator whose first message must include the problem."""

    def first(self, talk: ChatTask) -> Prompt:
        return prompts.first(talk.question, self.prompts, with_problem=True)


@user("two_step_help", model=True)
class TwoStepHelp(TwoStep):
    """The two-step simulator whose first message is fixed: it asks for help with the first step."""

    async def begin(self, talk: ChatTask, ask: Ask) -> UserAction:
        """The fixed message; no model is asked."""
        return talk.say(prompts.filled(self.prompts.help_message, talk.question)[: talk.max_chars])
