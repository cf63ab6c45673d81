"""The tasks of a batch: the interface between planners (methods, annotators) and the engine that makes the calls.

A cell is one thing that one model is asked, a sample one repetition of it, a step one call of a sample. The key names
everything on which the chance of a reply depends, so that what is stored under (key, sample, step) is never asked for
again, by whatever run, and two things that differ in a parameter never share a reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Protocol

import orjson

from app.backends.base import Request
from app.backends.model_ref import ModelRef
from experiments.study.sections.tools import ToolSet


@dataclass(frozen=True, slots=True)
class Prompt:
    asked: ModelRef
    request: Request
    tools: ToolSet | None = None
    """The set of the tools that the request offers."""


class Task(Protocol):
    @property
    def key(self) -> str: ...

    @property
    def samples(self) -> int: ...

    @property
    def steps(self) -> int: ...

    def next(self, texts: Sequence[str]) -> Prompt | None:
        """The prompt after these replies, one for each step so far; None where nothing is left to ask."""
        ...


def key_of(*parts: Any) -> str:
    """The key of a cell of which these parts, in plain JSON, say all that its replies depend on."""
    return sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()


def request_parts(prompt: Prompt) -> Mapping[str, Any]:
    """The parts of a prompt that belong into a key: the model, and all of the request but its seed."""
    request = prompt.request
    tools = prompt.tools
    offered = {} if tools is None else {"tools": [tools.model_dump(mode="json"), *map(asdict, request.tools)]}
    return {
        **prompt.asked.identity(),
        "model": request.model,
        "messages": [[one.role, one.text] for one in request.messages],
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "options": dict(request.options),
        "schema": request.schema,
        **offered,
    }
