"""A model that plays a simulated user, needs no server and no key: for tests, and to try a simulation out for nothing.

It knows the default prompts of Parley's own users (experiments/instruments/chatbench_prompts.py): it writes a first
message, follow-ups and an answer, which is often what the chatbot said in bold.
The same seed and messages give the same reply. What it says is no person's: it measures nothing.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence

from pydantic import Field

from app.backends.base import Backend, Delta, Request, parse_options
from app.backends.registry import backend
from app.backends.scripted import PacedOptions, type_reply
from experiments.instruments.chatbench_prompts import FIRST, FIRST_WITH_PROBLEM, IQA_EVAL_LAST, LAST, NEXT, RULE, TALK
from experiments.session.seeded_random import uniform
from experiments.study.sections.two_step_simulator import SimulatorQuestion

# How often it answers when it could go on talking.
ANSWERS = 0.6
# How often it takes the chatbot's word, where that is one of the options.
FOLLOWS = 0.8
# How the task to write the first message begins, and what it says besides if the message must include the problem.
BEGINS = (FIRST.partition(".")[0], FIRST_WITH_PROBLEM.partition(",")[0].partition(". ")[2])
MAY_ANSWER, MUST_ANSWER = (task.removeprefix(TALK).partition("{")[0] for task in (NEXT, LAST))
IQA_MUST_ANSWER = IQA_EVAL_LAST.partition("{")[0]
OPTION = re.compile(r"^(\w+)\. (.*)$", re.MULTILINE)
BOLD = re.compile(r"\*\*(.+?)\*\*")
# What stands before the question in a system prompt.
QUESTION = re.compile(r"(?:the following question:|So, the answer is: [^\n]*\.\")\n\n")
HEARD = re.compile(r"^(?:SYSTEM|ASSISTANT): ", re.MULTILINE)
OPENINGS = ("can you help me with this? {}", "I am stuck on this one: {}", "{}", "how do I start with this: {}")
FOLLOW_UPS = (
    "ok, but why is that so?",
    "are you sure about that, could you check it once more?",
    "so which of the options is it then?",
    "can you explain the last step again please",
)
SHORT_WORDS = 14
IQA = "So, the answer is:"


class UserOptions(PacedOptions):
    first_ms: int = Field(0, ge=0, le=60_000)
    """Milliseconds before the first word."""
    pace_ms: int = Field(0, ge=0, le=10_000)
    """Milliseconds from word to word."""
    mute: float = Field(0, ge=0, le=1)
    """The share of replies that cannot be used, from 0 to 1."""


@backend("scripted-user")
class ScriptedUser(Backend):
    Options = UserOptions

    def stream(self, request: Request) -> AsyncGenerator[Delta]:
        options = parse_options(UserOptions, request.options)
        mute = uniform(request.seed, "mute") < options.mute
        return type_reply("Answer: none of them" if mute else reply(request), request, options, self.sleep)


def reply(request: Request) -> str:
    seed = request.seed
    system = "\n".join(message.text for message in request.messages if message.role == "system")
    last = request.messages[-1].text if request.messages else ""
    if IQA in system:
        begins = not HEARD.search(system)
        over = IQA_MUST_ANSWER in system or (not begins and uniform(seed, "over") < ANSWERS)
        return f"{IQA} {_answer(system, system, seed)}" if over else _says(system, seed, begins=begins)
    if BEGINS[0] in last:
        return _says(system, seed, begins=True, whole=BEGINS[1] in last)
    if MUST_ANSWER in last or (MAY_ANSWER in last and uniform(seed, "over") < ANSWERS):
        return f"Answer: {_answer(system, last, seed)}"
    return _says(system, seed, begins=False)


def _says(system: str, seed: str, *, begins: bool, whole: bool = False) -> str:
    if not begins:
        return _one(FOLLOW_UPS, seed, "follow-up")
    words = QUESTION.split(system)[-1].split()
    whole = whole or uniform(seed, "whole") < ANSWERS
    return _one(OPENINGS, seed, "opening").format(" ".join(words if whole else words[:SHORT_WORDS])) or "Hello there"


def _answer(system: str, talk: str, seed: str) -> str:
    """The option that the chatbot set in bold last, often; otherwise any."""
    question, *_ = HEARD.split(QUESTION.split(system)[-1])
    options = dict(OPTION.findall(question))
    if not options:
        return "42"
    last_message = HEARD.split(talk)[-1].partition(RULE)[0]
    bold = BOLD.findall(last_message)[-1:]
    taken = SimulatorQuestion("", options).key(bold[0]) if bold else None
    return taken if taken and uniform(seed, "follows") < FOLLOWS else _one(tuple(options), seed, "answer")


def _one(options: Sequence[str], seed: str, slot: str) -> str:
    return options[int(uniform(seed, slot) * len(options))]
