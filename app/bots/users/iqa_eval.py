"""IQA-EVAL's user, as ChatBench compares itself with it: one system prompt, and the conversation as it is.

Li et al.: IQA-EVAL. NeurIPS 2024; Chang, Anderson, Hofman: ChatBench. ACL 2025, appendix B.4. The prompt has the model
mimic a human who asks one sub-question a turn and ends with "So, the answer is: X"; its sentences are ours. The
conversation is told from the user's side: what the chatbot says is said to the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from app.bots.users.chat_user import ChatTask, ChatUser
from app.bots.users.registry import user
from experiments.instruments.two_step_simulator import Prompt

SYSTEM = (
    "Mimic a human who tries to answer the question below by talking with an AI assistant. The assistant does not see "
    "the question. Ask one sub-question in each turn, in everyday words, and go on from what the assistant tells you. "
    'As soon as you can answer, write "So, the answer is: X", where X is {form}.\n\nQuestion:\n{question}'
)
BEGIN = "Hello! How can I help you?"
"""What stands for the assistant before the first message, as some servers want somebody to reply to."""
LAST = 'This was my last reply. Finish now: write only "So, the answer is: X", where X is {form}.'
ANSWERED = re.compile(r"so,? the answer is:?\s*(.+)", re.IGNORECASE)
ROLES = {"You": "assistant", "Bot": "user"}


@user("iqa_eval", model=True)
class IqaEval(ChatUser):
    """IQA-EVAL's simulator: one system prompt, one sub-question a turn, "So, the answer is: X"."""

    def first(self, talk: ChatTask) -> Prompt:
        """The system prompt, and nothing said yet."""
        return (_system(talk), {"role": "user", "text": BEGIN})

    def following(self, talk: ChatTask) -> Prompt:
        """The conversation so far."""
        return (*self.first(talk), *_merged([{"role": ROLES[who], "text": text} for who, text in talk.said]))

    def last(self, talk: ChatTask) -> Prompt:
        """The conversation, and that it is over."""
        *before, reply = self.following(talk)
        over = LAST.format(form=talk.question.form)
        if reply["role"] == "user":
            return (*before, {"role": "user", "text": f"{reply['text']}\n\n{over}"})
        return (*before, reply, {"role": "user", "text": over})

    def answer_in(self, reply: str) -> str | None:
        """What comes after the words that give the answer."""
        found = ANSWERED.search(reply)
        return found[1].strip().rstrip(".").strip() if found else None


def _system(talk: ChatTask) -> Mapping[str, str]:
    question = talk.question
    return {"role": "system", "text": SYSTEM.format(form=question.form, question=question.whole)}


def _merged(said: list[Mapping[str, str]]) -> Prompt:
    """Messages with neighbours of one role made into one, as servers want the roles in turn."""
    found: list[Mapping[str, str]] = []
    for one in said:
        if found and found[-1]["role"] == one["role"]:
            found[-1] = {"role": one["role"], "text": f"{found[-1]['text']}\n\n{one['text']}"}
        else:
            found.append(one)
    return tuple(found)
