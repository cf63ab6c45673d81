"""A stand-in for a model that needs no server and no key: fixed replies, and answers that are wrong at a known rate.

For tests, simulated participants and studies that are tried out offline. It understands nothing that it is sent: the
answer is drawn from the problem that the request is about, and a reply of a JSON schema is random. The same request
always gets the same reply.
"""

import json
import random
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from itertools import takewhile
from string import ascii_uppercase
from typing import Any, Literal

from pydantic import Field

from app.backends.base import (
    JSON,
    Backend,
    BackendOptions,
    Delta,
    Request,
    Sleep,
    StreamEnd,
    TextDelta,
    ToolCall,
    parse_options,
)
from app.backends.registry import backend
from experiments.session.tool_calls import REFUSED
from problems.problem import Problem
from problems.tau2 import evaluation_of, task_of

ANSWERS = (
    "Let's take it step by step.\n\n1. Write down what is given.\n2. Write down what is asked.\n3. Compare the two.\n\n"
    "So the answer is **{}**. Does that fit what you expected?",
    "Happy to help. I looked at what the question asks for most directly, and ruled out what does not fit.\n\n"
    "That leaves **{}**. If you lean towards something else, tell me why.",
    "A good way in is to try a small case first, and then the whole.\n\n- The small case is quickly done.\n"
    "- The whole works in the same way.\n\nI come to **{}**. A rough estimate is always a good check.",
)
REMARKS = (
    "I stand in for a language model and follow a script, so I can say only a few things. It often helps to write down "
    "what you know and what you are looking for.",
    "I cannot tell, as I am only a script. Have you tried a smaller example?\n\n1. Choose the simplest case.\n"
    "2. See what happens.\n3. Change one thing.",
    "This is a fixed reply: no language model has read your message. It often helps to go through each step again.",
    "My replies are fixed. You could say in your own words what is asked, and then look for what is missing.",
)
ASKING = (
    "Let us not hurry to the options. In your own words, what is given here, what is asked for, and which rule that "
    "you know could lead from the one to the other?",
    "Before we look at any option, try a smaller case of the same kind, and tell me what you find. Which step would "
    "you take first, and what makes you think so?",
    "A good start. Could you check that step once more with another example, and then say which of your assumptions it "
    "rests on, and why they hold here?",
)
# What it says when it has done a task of tau2, or the participant refused a call of it.
TASK_DONE = "I have done what I could.{} Is there anything else I can do for you?"
TASK_REFUSED = "You did not allow it, so I have left that as it is.{} Is there anything else I can do for you?"
TASK_OVER = "I am only a script, and have nothing to add. If you have what you want, please end the conversation."
# How much a script repeats of what its tools gave, or a person said.
REPEATED = 500
# From this message of the participant on a tutor tells the answer, too.
TELLS_AT = 3
BOLD = re.compile(r"\*\*(.+?)\*\*")
# The stars of an option that are Markdown's, and no multiplication.
STARS = re.compile(r"\*\*+|(?<![\w)\]}])\*|\*(?![\w(\[{\\$])")
# What a person said, where a conversation is to be remembered (experiments/session/memory.py).
PERSON = re.compile(r"^Person: (.+)$", re.M)
ONE_LETTER = re.compile(r"single letter\b.*answer:\s*$", re.I | re.S)
WORDS = ("perhaps", "as they said", "the second one", "nothing of note")
# A word, with the space before it.
PIECE = re.compile(r"\s*\S+(?:\s+$)?")


class PacedOptions(BackendOptions):
    first_ms: int = Field(300, ge=0, le=60_000)
    """Milliseconds before the first word."""
    pace_ms: int = Field(20, ge=0, le=10_000)
    """Milliseconds from word to word."""


async def type_reply(text: str, request: Request, options: PacedOptions, sleep: Sleep) -> AsyncGenerator[Delta]:
    """Give a text word by word as the whole reply, cut at max_tokens, a word counting as one."""
    words = PIECE.findall(text)
    words_sent = words[: request.max_tokens]
    await sleep(options.first_ms / 1000)
    for word in words_sent:
        yield TextDelta(word)
        await sleep(options.pace_ms / 1000)
    yield StreamEnd(
        finish_reason="stop" if len(words_sent) == len(words) else "length",
        model=request.model,
        prompt_tokens=_tokens(request),
        completion_tokens=len(words_sent),
    )


def _tokens(request: Request) -> int:
    return sum(len(PIECE.findall(message.text)) for message in request.messages)


class ScriptedCall(BackendOptions):
    """A tool that the script asks for."""

    tool: str
    arguments: dict[str, JSON] = {}


class ScriptedOptions(PacedOptions):
    wrong: float = Field(0.25, ge=0, le=1)
    """The share of problems that it answers wrongly, from 0 to 1; it sounds the same as when it is right."""
    manner: Literal["plain", "tutor", "teller"] = "plain"
    """Its manner of speaking about a problem. `tutor`: it asks, and tells the answer from the third message on.
    `teller`: it tells the answer at once and in few words."""
    violating: float = Field(0, ge=0, le=1)
    """The share of replies in which a tutor speaks as a teller, and a teller as a tutor, from 0 to 1, by chance."""
    calls: tuple[tuple[ScriptedCall, ...], ...] = ()
    """The tools that it asks for after the participant's first message, the second, and so on, all of one list at
    once, each with its `tool` and its `arguments`; then it repeats what they gave. With a task of tau2, and without
    calls here, it does the task after the first message, or all but its last call as often as it is `wrong`."""


@backend("scripted")
class Scripted(Backend):
    Options = ScriptedOptions
    tools = True
    pictures = True

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        options = parse_options(ScriptedOptions, request.options)
        if calls := _calls(request, options):
            for call in calls:
                yield call
            yield StreamEnd("tool_calls", request.model, prompt_tokens=_tokens(request), completion_tokens=len(calls))
            return
        async with aclosing(type_reply(reply(request, options), request, options, self.sleep)) as deltas:
            async for delta in deltas:
                yield delta


def _calls(request: Request, options: ScriptedOptions) -> list[ToolCall]:
    """The calls of the script that are due: after a message of the participant, if their tools are offered."""
    told = sum(message.role == "user" for message in request.messages)
    script = options.calls or _task_calls(request, options.wrong)
    if not request.messages or request.messages[-1].role != "user" or not 0 < told <= len(script):
        return []
    offered = {tool.name for tool in request.tools if request.may_call}
    return [
        ToolCall(f"call_{told}_{number}", call.tool, json.dumps(call.arguments))
        for number, call in enumerate(script[told - 1])
        if call.tool in offered
    ]


def _task_calls(request: Request, wrong: float) -> Sequence[Sequence[ScriptedCall]]:
    """The calls that a task of tau2 expects, after the first message."""
    actions = evaluation_of(request.problem).get("actions") if request.problem else None
    if not actions:
        return ()
    calls = [ScriptedCall(tool=action["name"], arguments=action["arguments"]) for action in actions]
    mistaken = random.Random(request.seed).random() < wrong  # noqa: S311  (no secret is drawn)
    return (calls[:-1] if mistaken else calls,)


def reply(request: Request, options: ScriptedOptions) -> str:
    """The whole reply: its summary of the last message, and its text."""
    pictures = () if request.schema else [one for said in request.messages[-1:] for one in said.pictures]
    seen = [f"{one.width} x {one.height}" for one in pictures]
    said = _said_to(request, options)
    return f"I see {len(seen)} picture{'s' * (len(seen) > 1)} ({', '.join(seen)} pixels). {said}" if seen else said


def _said_to(request: Request, options: ScriptedOptions) -> str:
    """JSON, a letter or a word where one is asked for, otherwise an answer or a remark."""
    chance = random.Random(f"{request.seed}\n{request.messages}")  # noqa: S311  (no secret is drawn)
    results = list(takewhile(lambda message: message.role == "tool", reversed(request.messages)))
    if request.problem is not None and task_of(request.problem):
        info = ", ".join(evaluation_of(request.problem).get("communicate_info") or ())
        answered = f" The answer to your question: {info}." if info else ""
        refused = any(message.text.startswith(REFUSED) for message in results)
        return (TASK_REFUSED if refused else TASK_DONE).format(answered) if results else TASK_OVER
    if results:
        return "\n\n".join(message.text for message in reversed(results))[:REPEATED] or REMARKS[0]
    if request.schema is not None:
        return json.dumps(random_value(request.schema, chance), ensure_ascii=False)
    problem, last = request.problem, request.messages[-1].text if request.messages else ""
    if '"attempted_answer"' in last:
        return _extracted(problem, last)
    if told := PERSON.findall(last):
        return "\n".join(f"- Has written: {text[:REPEATED]}" for text in told[-2:])
    if problem is None or not (problem.options or problem.answer):
        return chance.choice(REMARKS)
    # said once, it stays: in the conversation so far, or in the reasoning that is quoted when a letter is asked for
    answer = _said("\n".join(message.text for message in request.messages), problem) or _answer(
        problem, options.wrong, chance
    )
    if options.manner != "plain":
        return _in_manner(request, options, answer, chance)
    return answer[0] if problem.options and ONE_LETTER.search(last) else chance.choice(ANSWERS).format(answer)


def _in_manner(request: Request, options: ScriptedOptions, answer: str, chance: random.Random) -> str:
    asks = (options.manner == "tutor") != (chance.random() < options.violating)
    if not asks:
        return f"It is **{answer}**."
    question = chance.choice(ASKING)
    told = sum(message.role == "user" for message in request.messages) >= TELLS_AT and options.manner == "tutor"
    return f"It comes to **{answer}**. {question}" if told else question


def _named(problem: Problem) -> dict[str, str]:
    texts = (" ".join(STARS.sub("", option.text).split()).rstrip(".") for option in problem.options)
    keys = (option.key for option in problem.options)
    return {key: f"{letter}. {text}" for key, letter, text in zip(keys, ascii_uppercase, texts, strict=False)}


def _said(text: str, problem: Problem | None) -> str | None:
    bold = BOLD.findall(text)
    if problem is not None and problem.options:
        bold = [one for one in bold if one in _named(problem).values()]
    return bold[-1] if bold else None


def _answer(problem: Problem, wrong: float, chance: random.Random) -> str:
    mistaken = chance.random() < wrong
    if problem.options:
        named = _named(problem)
        right = named.get(problem.answer or "") or chance.choice([*named.values()])
        return chance.choice([one for one in named.values() if one != right] or [right]) if mistaken else right
    right = problem.answer or ""
    if not mistaken:
        return right
    return str(int(right) + chance.choice((-10, -1, 1, 10))) if re.fullmatch(r"-?\d{1,15}", right) else "none"


def _extracted(problem: Problem | None, text: str) -> str:
    answer = _said(text, problem)
    if answer is None:
        return json.dumps({"attempted_answer": False})
    found = {"attempted_answer": True, "answer_val": answer}
    if problem is not None and problem.options:
        place = ascii_uppercase.index(answer[0])
        found |= {"answer_val": problem.options[place].plain, "answer_letter": answer[0]}
    return json.dumps(found)


def random_value(schema: Mapping[str, Any], chance: random.Random) -> Any:
    """A value that fits the schema's types, bounds and lists of values."""
    if "enum" in schema:
        return chance.choice(list(schema["enum"]))
    kinds = schema.get("type", "null")
    match chance.choice(kinds) if isinstance(kinds, list) else kinds:
        case "object":
            return {name: random_value(part, chance) for name, part in schema.get("properties", {}).items()}
        case "array":
            return [random_value(schema.get("items", {}), chance) for _ in range(chance.randint(0, 2))]
        case "boolean":
            return chance.random() < 1 / 2
        case "integer" | "number":
            low = round(schema.get("minimum", 0))
            return chance.randint(low, max(low, round(schema.get("maximum", low + 10))))
        case "string":
            return chance.choice(WORDS)
        case _:
            return None
