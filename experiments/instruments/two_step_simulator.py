"""ChatBench's two-step user simulator: the prompts for a model that plays a user, and the parsing of its replies.

Structure: Chang, Anderson, Hofman: ChatBench. ACL 2025, section 5, appendix B.4 (generate_conversations.py): a system
prompt casts the model as a human who tries to answer the question; task 1 is the first message; task 2, with the
conversation between rules, is `Answer: X` alone or the next message; a last call must answer. The wording is ours.

The prompts of simulated users and the fine-tuning examples are both made here, so that a model fine-tuned on these
examples can play a user. Pure functions; they depend on no screen and no model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Prompt = tuple[Mapping[str, str], ...]
"""Messages for a model, each with a `role` and a `text`."""
Said = Sequence[tuple[Literal["You", "Bot"], str]]
"""A conversation as pairs of sender and text."""

RULE = "=" * 20
CALLED = {"You": "YOU", "Bot": "SYSTEM"}
SYSTEM = (
    "You play a human who is trying to answer the question below and talks with an AI system about it. The AI system "
    "does not see the question: it knows only what you write to it. Write as that human would, in everyday words, and "
    "never say that you are playing or that you are an AI.\n\nQuestion:\n{question}"
)
FIRST = (
    "Task: write the first message that you send to the AI system. Write it as a real user would, who is often short "
    "and not always tidy. Return only the message."
)
WITH_PROBLEM = "The message must include the problem itself, as the AI system cannot see it."
HELP = "Can you help me with the first step of this problem? {question}"
TALK = "This is your conversation with the AI system so far:\n\n{rule}\n{talk}\n{rule}\n\n"
EITHER = (
    "Task: if you know by now what you answer to the question, return only `Answer: {form}`. Otherwise return only the "
    "next message that you send to the AI system, in the style of your messages so far."
)
GO_ON = "Task: return only the next message that you send to the AI system, in the style of your messages so far."
LAST = "Task: the conversation is over, and you must answer the question now. Return only `Answer: {form}`."
ANSWER = "Answer:"
OWN_WORDS = "YOUR ANSWER"
SPEAKER = "YOU:"
QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("`", "`"))
LED = re.compile(r"\(?(\w+)(?:[.):]+(?:\s.*)?)?$", re.DOTALL)
"""An option's key alone, or followed by punctuation and the option's text."""


@dataclass(frozen=True, slots=True)
class SimulatorQuestion:
    """A question: its text, and its options by key, if any."""

    text: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def whole(self) -> str:
        """The text with the lettered options below."""
        return "\n".join([self.text, *(f"{key}. {text}" for key, text in self.options.items())])

    @property
    def form(self) -> str:
        """The placeholder for the answer in a prompt: the options' keys, or a word if there are none."""
        *some, last = self.options or (OWN_WORDS,)
        return f"{', '.join(some)} or {last}" if some else last

    def key(self, answer: str) -> str | None:
        """The key of the option that an answer names, by its key or its exact text; None if it names none."""
        said = answer.strip().strip("*").strip()
        by_text = [key for key, text in self.options.items() if text.strip().lower() == said.lower()]
        led = LED.match(said)
        by_key = [key for key in self.options if led and key.lower() == led[1].lower()]
        found = by_text or by_key
        return found[0] if len(found) == 1 else None


def first(question: SimulatorQuestion, *, with_problem: bool = False) -> Prompt:
    """Task 1: the first message."""
    return _prompt(question, f"{FIRST} {WITH_PROBLEM}" if with_problem else FIRST)


def following(question: SimulatorQuestion, said: Said, *, may_answer: bool = True) -> Prompt:
    """Task 2: the answer or the next message; only the latter unless `may_answer`."""
    return _prompt(question, _talk(said) + (EITHER.format(form=question.form) if may_answer else GO_ON))


def last(question: SimulatorQuestion, said: Said) -> Prompt:
    """The last call, which must answer."""
    return _prompt(question, _talk(said) + LAST.format(form=question.form))


def help_message(question: SimulatorQuestion) -> str:
    """The first message of the variant that always asks for help with the first step."""
    return HELP.format(question=question.text)


def cleaned(reply: str) -> str:
    """A reply without surrounding quotes and without a speaker's name in front."""
    text = _unquoted(reply.strip())
    return _unquoted(text.removeprefix(SPEAKER).strip())


def answer_in(reply: str) -> str | None:
    """The answer in a cleaned reply; None if the reply is a message."""
    return reply.removeprefix(ANSWER).strip() if reply.startswith(ANSWER) else None


def examples(question: SimulatorQuestion, said: Said, key: str) -> list[Prompt]:
    """A conversation as examples for fine-tuning: k messages of the user give k + 1.

    They are task 1 once, task 2 for each further message, and task 2 with the answer.
    """
    found: list[Prompt] = []
    for number, (who, text) in enumerate(said):
        if who == "You":
            asked = following(question, said[:number]) if found else first(question)
            found.append((*asked, {"role": "assistant", "text": text}))
    answered = {"role": "assistant", "text": f"{ANSWER} {key}"}
    return [*found, (*following(question, said), answered)] if found else []


def _prompt(question: SimulatorQuestion, task: str) -> Prompt:
    system = SYSTEM.format(question=question.whole)
    return ({"role": "system", "text": system}, {"role": "user", "text": task})


def _talk(said: Said) -> str:
    talk = "\n\n".join(f"{CALLED[who]}: {text}" for who, text in said)
    return TALK.format(rule=RULE, talk=talk)


def _unquoted(text: str) -> str:
    """The text without quotes around the whole of it; those within it stay."""
    for left, right in QUOTES:
        inner = text[1:-1]
        if len(text) > 1 and text[0] == left and text[-1] == right and left not in inner and right not in inner:
            return inner.strip()
    return text
