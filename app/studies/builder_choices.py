"""What the console's builder offers to choose from: read from the registries and from the models of a study file.

So a protocol, a recruiter, a backend or a source of problems that is added is offered, and one that goes is not. The
labels are the form's own; a value without one is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from app.backends import registry as backends
from app.backends.providers import BACKEND, PROVIDERS
from app.studies.loader import read_protocols
from experiments.session.outcomes import OUTCOMES, status_label
from experiments.study.resolve import nodes_of
from experiments.study.schema import Loop, ProtocolFile, models
from experiments.study.sections.recruitment import Bonus, Recruiter
from experiments.study.step import Step
from problems.registry import names

SIMULATED = ("scripted-user",)
SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z])")
"""Between two sentences; not after `al.,` or within an abbreviation."""
RECRUITERS: Mapping[str, str] = {
    "prolific": "Prolific",
    "connect": "CloudResearch Connect",
    "sona": "SONA",
    "panel": "a panel of your own: links with an id",
    "lab": "a lab or a list of people: personal links",
    "open": "nobody: one link for everyone",
}
BONUSES: Mapping[str, str] = {
    "correct_answer": "for each question answered correctly",
    "answer": "for each question answered",
    "completion": "for completing the study",
}
SOURCES: Mapping[str, str] = {
    "items": "questions in any table of your own (items)",
    "chatbench": "multiple-choice questions as in ChatBench (chatbench)",
    "checkmate": "theorems as in CheckMate, one a Markdown file (checkmate)",
    "dices": "finished conversations as in DICES (dices)",
    "jsonl": "problems or conversations as JSON lines (jsonl)",
}
ORDERS: Mapping[str, str] = {
    "shuffled": "in random order",
    "listed": "in the order of the list",
    "latin_square": "in the order of a Latin square",
}
PLAYED: Mapping[str, str] = {"scripted": "Scripted stand-in: fixed replies, no key, and sometimes wrong"}


QUESTIONS: Mapping[str, str] = {
    "single_choice": "one of some options",
    "multiple_choice": "any of some options",
    "scale": "a point on a scale",
    "number": "a number from 0 up",
    "short_text": "a short text",
    "long_text": "a longer text",
}
COMMON = ("direct-to-AI", "answer-first", "user-alone")
"""The protocols that come first: with a chatbot, alone and then with it, and alone."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of the form, and what the form says of it."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class ProtocolChoice:
    """A protocol, the first sentence about it, and what its steps need (see `Step.requires`).

    `before` are the steps that ask for the confidence in an answer to come, and `answers` those in which one is given,
    each with whether it asks for the confidence as well.
    """

    name: str
    version: int
    about: str
    needs: frozenset[str]
    before: tuple[str, ...]
    answers: Mapping[str, bool]

    @property
    def reference(self) -> str:
        """How a study names this version of it."""
        return f"{self.name}@{self.version}"


@cache
def protocols() -> Mapping[str, ProtocolChoice]:
    """Parley's own protocols by name. (A draft that is not made yet has no folder with protocols of its own.)"""
    models()
    return {name: _protocol(raw) for name, raw in read_protocols(Path("/nowhere")).items()}


def _protocol(raw: Mapping[str, Any]) -> ProtocolChoice:
    file = ProtocolFile.model_validate(raw)
    steps = [step for step in nodes_of(file.flow) if isinstance(step, Step)]
    answering = [step for step in steps if "answer" in step.provides()]
    return ProtocolChoice(
        name=file.protocol,
        version=file.version,
        about=SENTENCE.split(file.about.strip())[0],
        needs=frozenset[str]().union(*(step.requires() for step in steps)),
        before=tuple(step.id for step in steps if step.step == "confidence"),
        answers={step.id: step.ask_confidence for step in answering if hasattr(step, "ask_confidence")},
    )


def server_choices(servers: Iterable[str] = ()) -> tuple[Choice, ...]:
    """The ways to reach a model as `backend` or `backend@server`: what needs no server, the servers that people know
    by name, and those of the deployment. A backend whose options a study must write by hand is left to the editor."""
    found: list[Choice] = []
    for name in backends.names():
        if name in SIMULATED or any(field.is_required() for field in backends.options_of(name).model_fields.values()):
            continue
        if not backends.check_server(name, None):
            found.append(Choice(name, PLAYED.get(name, {"openai": "OpenAI", "anthropic": "Anthropic"}.get(name, name))))
    found.sort(key=lambda one: backends.asks_servers(one.value))
    known = [Choice(f"{BACKEND}@{name}", provider.title) for name, provider in PROVIDERS.items()]
    own = [Choice(f"{BACKEND}@{name}", f"{name} (a server of this deployment)") for name in servers]
    return (*found, *known, *(one for one in own if one.value not in {other.value for other in known}))


def sources() -> tuple[Choice, ...]:
    return _labelled(names(), SOURCES)


def recruiters() -> tuple[Choice, ...]:
    return _labelled(get_args(Recruiter), RECRUITERS)


def bonuses() -> tuple[Choice, ...]:
    return _labelled(get_args(Bonus.model_fields["per"].annotation), BONUSES)


def orders() -> tuple[Choice, ...]:
    return _labelled(get_args(Loop.model_fields["order"].annotation), ORDERS)


def outcomes() -> tuple[Choice, ...]:
    return tuple(Choice(name, status_label(name)) for name in OUTCOMES)


def _labelled(values: Sequence[str], labels: Mapping[str, str]) -> tuple[Choice, ...]:
    return tuple(Choice(value, labels.get(value, value)) for value in values)
