"""ChatBench's user simulators: the prompts for a model that plays a user, and the parsing of its replies.

Source: Chang, Anderson, Hofman: ChatBench. ACL 2025, section 5, appendix B.4 (generate_conversations.py). Two-step: a
system prompt casts the model as a human who tries to answer the question; task 1 is the first message; task 2, with the
conversation between rules, is `Answer: X` alone or the next message; a last call must answer. The prompts are theirs,
word for word (experiments/instruments/chatbench_prompts.py), unless a study has its own.

Pure functions; they depend on no screen and no model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from experiments.errors import ValidationIssue
from experiments.instruments import chatbench_prompts
from experiments.instruments.chatbench_prompts import TALK, choices
from experiments.study.base_model import StrictModel
from experiments.study.texts import fill, slot_errors

Prompt = tuple[Mapping[str, str], ...]
Said = Sequence[tuple[Literal["You", "Bot"], str]]

CALLED: Mapping[str, str] = {"You": "YOU", "Bot": "SYSTEM"}
# `NEXT` without the answer, for a screen that cannot be left yet; ChatBench has none such.
GO_ON = TALK + (
    "Generate the next prompt you would say to the system to answer your question. Remember to keep your writing style "
    "consistent."
)
ANSWER = "Answer:"
OWN_WORDS = "YOUR ANSWER"
SPEAKER = "YOU:"
QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("`", "`"))
LED = re.compile(r"\(?(\w+)(?:[.):]+(?:\s.*)?)?$", re.DOTALL)


class SimulatorPrompts(StrictModel):
    """The prompts of simulated users. The defaults are ChatBench's, word for word.
    `{{question}}` is the question with its lettered options, `{{choices}}` the letters as `A, B, C, or D`, and
    `{{conversation}}` what was said so far, with `YOU:` or `SYSTEM:` before each message."""

    system: str = chatbench_prompts.TWO_STEP
    """The system prompt of `two_step` and its variants. The other prompts follow it as the user's message."""
    first: str = chatbench_prompts.FIRST
    """The task to write the first message."""
    first_with_problem: str = chatbench_prompts.FIRST_WITH_PROBLEM
    """Likewise for `two_step_problem`."""
    help_message: str = chatbench_prompts.HELP
    """The first message of `two_step_help`, which is sent as it is."""
    next: str = chatbench_prompts.NEXT
    """The task to answer, or to write the next message."""
    next_message: str = GO_ON
    """The task to write the next message, where an answer is not possible yet."""
    last: str = chatbench_prompts.LAST
    """The task to answer now."""
    iqa_eval: str = chatbench_prompts.IQA_EVAL
    """The only message to the model of `iqa_eval`. The conversation so far follows after a blank line."""
    iqa_eval_last: str = chatbench_prompts.IQA_EVAL_LAST
    """Likewise where it must answer now."""


DEFAULT = SimulatorPrompts()
NEEDED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("next", "next_message", "last"), ("conversation",)),
    **dict.fromkeys(("system", "iqa_eval", "iqa_eval_last"), ("question",)),
}


def validate_prompts(prompts: SimulatorPrompts) -> Iterator[ValidationIssue]:
    for prompt, text in prompts:
        found = slot_errors(text, NEEDED.get(prompt, ()), ("question", "choices"))
        yield from (ValidationIssue(f"simulator_prompts.{prompt}", words) for words in found)


@dataclass(frozen=True, slots=True)
class SimulatorQuestion:
    text: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def whole(self) -> str:
        return "\n".join([self.text, *(f"{key}. {text}" for key, text in self.options.items())])

    @property
    def form(self) -> str:
        """The placeholder for the answer in a prompt: the options' keys, or a word if there are none."""
        return choices(self.options or (OWN_WORDS,))

    def key(self, answer: str) -> str | None:
        """The key of the option that an answer names, by its key or its exact text; None if it names none."""
        said = answer.strip().strip("*").strip()
        by_text = [key for key, text in self.options.items() if text.strip().lower() == said.lower()]
        led = LED.match(said)
        by_key = [key for key in self.options if led and key.lower() == led[1].lower()]
        found = by_text or by_key
        return found[0] if len(found) == 1 else None


def first(question: SimulatorQuestion, prompts: SimulatorPrompts = DEFAULT, *, with_problem: bool = False) -> Prompt:
    return _prompt(question, prompts, prompts.first_with_problem if with_problem else prompts.first)


def following(
    question: SimulatorQuestion, said: Said, prompts: SimulatorPrompts = DEFAULT, *, may_answer: bool = True
) -> Prompt:
    """Task 2: the answer or the next message; only the latter unless `may_answer`."""
    return _prompt(question, prompts, prompts.next if may_answer else prompts.next_message, said)


def last(question: SimulatorQuestion, said: Said, prompts: SimulatorPrompts = DEFAULT) -> Prompt:
    return _prompt(question, prompts, prompts.last, said)


def iqa_eval(
    question: SimulatorQuestion, said: Said, prompts: SimulatorPrompts = DEFAULT, *, must_answer: bool = False
) -> Prompt:
    """IQA-EVAL's one message: the instructions and the question, and then the conversation, if there is one."""
    text = filled(prompts.iqa_eval_last if must_answer else prompts.iqa_eval, question)
    talk = conversation(said, {**CALLED, "Bot": "ASSISTANT"})
    return ({"role": "system", "text": f"{text}\n\n{talk}" if said else text},)


def filled(template: str, question: SimulatorQuestion, said: Said = ()) -> str:
    values = {"question": question.whole, "choices": question.form, "conversation": conversation(said)}
    return fill(template, values.__getitem__)


def conversation(said: Said, called: Mapping[str, str] = CALLED) -> str:
    """A conversation as prompts show it: each message with its sender, and a blank line between them."""
    return "\n\n".join(f"{called[who]}: {text}" for who, text in said)


def cleaned(reply: str) -> str:
    """A reply without surrounding quotes and without a speaker's name in front."""
    text = _unquoted(reply.strip())
    return _unquoted(text.removeprefix(SPEAKER).strip())


def answer_in(reply: str) -> str | None:
    """The answer in a cleaned reply; None if the reply is a message."""
    return reply.removeprefix(ANSWER).strip() if reply.startswith(ANSWER) else None


def _prompt(question: SimulatorQuestion, prompts: SimulatorPrompts, task: str, said: Said = ()) -> Prompt:
    system = {"role": "system", "text": filled(prompts.system, question)}
    return (system, {"role": "user", "text": filled(task, question, said)})


def _unquoted(text: str) -> str:
    for left, right in QUOTES:
        inner = text[1:-1]
        if len(text) > 1 and text[0] == left and text[-1] == right and left not in inner and right not in inner:
            return inner.strip()
    return text
