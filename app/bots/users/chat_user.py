"""Parts of users that talk about a problem: their turns, and the use of their replies.

They speak where a problem stands beside a chat with one model. All else (consent, confidence, ratings, answers that are
given alone, chats without a problem or with several models) is left to chance, and an analysis should leave it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from app.bots.users.base import Ask, UnusableReply, UserAction
from app.bots.users.random import Random
from experiments.study.fields import ANSWER, SingleChoice
from experiments.study.screen import ChatMessage, ProblemBlock, Screen
from experiments.study.sections.two_step_simulator import (
    DEFAULT,
    Prompt,
    Said,
    SimulatorPrompts,
    SimulatorQuestion,
    answer_in,
    cleaned,
)

# Messages after which the user must answer. (ChatBench's.)
MAX_TURNS = 10
NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class ChatTask:
    """A chat about a problem, as it is before the user: `field` is where the answer goes, if it is given there."""

    question: SimulatorQuestion
    said: Said
    may_say: bool
    may_leave: bool
    max_chars: int
    field: str = ""

    @property
    def turns(self) -> int:
        return sum(who == "You" for who, _ in self.said)

    @property
    def over(self) -> bool:
        return self.may_leave and (self.turns >= MAX_TURNS or not self.may_say)

    def message(self, reply: str) -> str:
        """A reply as the message that it is; raises UnusableReply."""
        if not reply:
            raise UnusableReply("Return the message itself.")
        if len(reply) > self.max_chars:
            raise UnusableReply(f"The message must have at most {self.max_chars:,} characters.")
        return reply

    def say(self, reply: str) -> UserAction:
        """The action of sending a message; raises UnusableReply."""
        return UserAction("say", {"text": self.message(reply)})

    def leave(self, answer: str) -> UserAction:
        """The action of giving an answer; raises UnusableReply where it names no option or number."""
        if not self.field:
            return UserAction("submit")
        key = self.question.key(answer) if self.question.options else _number(answer)
        if key is None:
            raise UnusableReply(f"The answer must be {self.question.form}, and nothing else.")
        return UserAction("submit", {self.field: key})


def _number(answer: str) -> str | None:
    """The one number in an answer, which may have a unit; None if there are none or several."""
    found = [match[0] for match in NUMBER.finditer(answer)]
    return found[0] if len(found) == 1 else None


def chat_task_of(screen: Screen) -> ChatTask | None:
    """The chat about a problem in which it is the user's turn to speak or to answer; None elsewhere."""
    chat, actions = screen.panel.chat, screen.actions
    asked = next((block for block in screen.panel.blocks if isinstance(block, ProblemBlock)), None)
    may_say, may_leave = "say" in actions, "submit" in actions
    if chat is None or asked is None or chat.columns or "retry" in actions or not (may_say or may_leave):
        return None
    answer = next((field for field in screen.panel.fields if field.name == ANSWER.name), None)
    own = answer.options if isinstance(answer, SingleChoice) else dict(asked.options)
    options = {**own, **dict(asked.plain_options)} if answer else own
    return ChatTask(
        question=SimulatorQuestion(asked.plain or asked.text, options),
        said=tuple(_said(chat.messages)),
        may_say=may_say,
        may_leave=may_leave,
        max_chars=chat.max_chars,
        field=answer.name if answer else "",
    )


def _said(messages: Sequence[ChatMessage]) -> Iterator[tuple[Literal["You", "Bot"], str]]:
    """Yield speaker and text of each message, with the tools used as text above the reply that they were used for."""
    above = list[str]()
    for message in messages:
        if message.interim:
            above.append(message.as_text)
        else:
            yield message.role, "\n\n".join([*above, message.as_text])
            above = []
    if above:
        yield "Bot", "\n\n".join(above)


class ChatUser(Random):
    """A user that talks. Its kinds say what their model is asked, and how its replies are read. It allows each call of
    a tool."""

    prompts: SimulatorPrompts = DEFAULT

    async def act(self, screen: Screen, ask: Ask) -> UserAction:
        if screen.panel.chat and screen.panel.chat.approvals:
            return UserAction("allow", {"call": screen.panel.chat.approvals[0].call})
        talk = chat_task_of(screen)
        if talk is None:
            return self.by_chance(screen)
        action = await self._talk(talk, ask)
        if action.kind != "submit":
            return action
        further = [field for field in screen.panel.fields if field.name not in action.values]
        return UserAction(action.kind, {**self._bot.fill(screen, further), **action.values})

    async def _talk(self, chat: ChatTask, ask: Ask) -> UserAction:
        if not chat.turns and chat.may_say:
            return await self.begin(chat, ask)
        if chat.over:
            return await ask(self.last(chat), lambda reply: self.read_last(chat, reply))
        return await ask(self.following(chat), lambda reply: self.read(chat, reply))

    async def begin(self, chat: ChatTask, ask: Ask) -> UserAction:
        return await ask(self.first(chat), lambda reply: chat.say(cleaned(reply)))

    def read(self, chat: ChatTask, reply: str) -> UserAction:
        """The answer, where one may be given, or the next message; raises UnusableReply."""
        answer = self.answer_in(cleaned(reply)) if chat.may_leave else None
        return chat.say(cleaned(reply)) if answer is None else chat.leave(answer)

    def read_last(self, chat: ChatTask, reply: str) -> UserAction:
        answer = self.answer_in(cleaned(reply))
        if answer is None:
            raise UnusableReply("The conversation is over: give your answer in the form that was asked for.")
        return chat.leave(answer)

    def answer_in(self, reply: str) -> str | None:
        return answer_in(reply)

    def first(self, chat: ChatTask) -> Prompt:
        raise NotImplementedError

    def following(self, chat: ChatTask) -> Prompt:
        raise NotImplementedError

    def last(self, chat: ChatTask) -> Prompt:
        raise NotImplementedError
