"""IQA-EVAL's user, as ChatBench compares itself with it: one system message, which ends with the conversation so far.

Li et al.: IQA-EVAL. NeurIPS 2024; Chang, Anderson, Hofman: ChatBench. ACL 2025, appendix B.4 (`iqa_eval_simulator` in
generate_conversations.py). The model mimics a human who asks one sub-question a turn and ends with "So, the answer is:
X". The prompts are theirs, word for word.
"""

from __future__ import annotations

import re

from app.bots.users.chat_user import ChatTask, ChatUser
from app.bots.users.registry import user
from experiments.study.sections.two_step_simulator import Prompt, iqa_eval

ANSWERED = re.compile(r"so,? the answer is:?\s*(.+)", re.IGNORECASE)


@user("iqa_eval", model=True)
class IqaEval(ChatUser):
    """IQA-EVAL's simulator: one system message, one sub-question a turn, "So, the answer is: X"."""

    def first(self, talk: ChatTask) -> Prompt:
        return iqa_eval(talk.question, (), self.prompts)

    def following(self, talk: ChatTask) -> Prompt:
        return iqa_eval(talk.question, talk.said, self.prompts)

    def last(self, talk: ChatTask) -> Prompt:
        return iqa_eval(talk.question, talk.said, self.prompts, must_answer=True)

    def answer_in(self, reply: str) -> str | None:
        found = ANSWERED.search(reply)
        return found[1].strip().rstrip(".").strip() if found else None
