"""The interface of a backend: it takes a request and yields pieces of a reply.

A reply is an async generator of `TextDelta`s that ends with exactly one `StreamEnd`; whatever else happens is a
BackendError. A model that reasons may have `ReasoningDelta`s between them. A backend keeps no time (`guard` does) and
retries nothing (the runtime does). Read it inside `contextlib.aclosing`, so that leaving early closes the connection at
once.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from app.config.model_servers import Server
from app.config.settings import Settings
from app.errors import BackendRejected
from experiments.errors import plain_message
from problems.errors import did_you_mean
from problems.problem import Problem

ServerUse = Literal["none", "own", "optional", "required"]
Role = Literal["system", "user", "assistant", "tool"]
JSON = JsonValue
# How a backend that plays for time waits, in seconds: asyncio.sleep, or a virtual clock's.
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a model asks for, complete: one piece of its reply, after its text."""

    id: str
    tool: str
    arguments: str
    """As the model wrote them; they should be a JSON object, and need not be."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may ask for; `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class PromptPicture:
    """A picture that a model is sent: its media type, width and height in pixels, and content."""

    sha256: str
    type: str
    width: int
    height: int
    content: bytes = field(repr=False)

    @property
    def base64(self) -> str:
        return b64encode(self.content).decode()

    @property
    def data_url(self) -> str:
        return f"data:{self.type};base64,{self.base64}"


def prompt_pictures(facts: Iterable[Mapping[str, Any]], contents: Mapping[str, bytes]) -> tuple[PromptPicture, ...]:
    """The pictures of a message by what its event says of them, without those of an erased session."""
    names = ("sha256", "type", "width", "height")
    known = ({name: one[name] for name in names} for one in facts if one["sha256"] in contents)
    return tuple(PromptPicture(**one, content=contents[one["sha256"]]) for one in known)


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A message; the assistant's may have calls, and one of the role `tool` is the result of the call `call_id`."""

    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    # Not in what it looks like, from which `scripted` draws its replies.
    pictures: tuple[PromptPicture, ...] = field(default=(), repr=False)
    """Only backends whose class says `pictures` are given any."""


@dataclass(frozen=True, slots=True)
class Request:
    """All that determines a reply; built from the log alone."""

    model: str
    messages: tuple[PromptMessage, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    options: Mapping[str, JSON] = field(default_factory=dict)
    """The study file's `options:` of the model, validated by the backend's `Options`."""
    seed: str = ""
    """The random seed of this reply, for backends that draw at random: equal seeds give equal replies."""
    schema: Mapping[str, JSON] | None = None
    """The JSON schema that the reply shall fulfil, for backends that can hold a model to it; others leave it out."""
    tools: tuple[ToolSpec, ...] = ()
    """The tools that the model may call; only backends whose class says `tools` are given any."""
    may_call: bool = True
    """True if it may call them in this reply."""
    whole: bool = field(default=False, compare=False)
    """True if nobody reads along, so that a server is asked for an answer in one piece."""
    problem: Problem | None = field(default=None, compare=False, repr=False)
    """The problem of the conversation, with its answer, for backends that stand in for a model; it is sent to no
    server."""


def as_chat_messages(messages: Iterable[PromptMessage], *, system: bool = True) -> list[JSON]:
    """The messages in the form that nearly all servers take, with those of the system or without."""
    return [_chat_message(one) for one in messages if system or one.role != "system"]


def _chat_message(message: PromptMessage) -> dict[str, JSON]:
    known: dict[str, JSON] = {"role": message.role, "content": message.text}
    if message.pictures:
        text: list[JSON] = [{"type": "text", "text": message.text}] if message.text else []
        shown: list[JSON] = [{"type": "image_url", "image_url": {"url": one.data_url}} for one in message.pictures]
        known["content"] = [*shown, *text]
    if message.calls:
        known["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
            for call in message.calls
        ]
    return known | ({"tool_call_id": message.call_id} if message.role == "tool" else {})


def system_of(messages: Iterable[PromptMessage]) -> str:
    return "\n\n".join(one.text for one in messages if one.role == "system")


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the reply, in order; never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of what the model thought before it replied. Empty where it is not known yet if text is reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningEnd:
    """All text so far was reasoning, as its end showed: the reply begins after it."""


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """The end of a reply, as the model server reported it."""

    finish_reason: str
    """`stop` (done), `length` (cut off at max_tokens) or `tool_calls`; others are errors, which `guard` refuses."""
    model: str | None = None
    """The model that replied, by its server's own name, which may be more exact than the one asked for."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    sent: str = field(default="", compare=False, repr=False)
    """The body of the request, and of an answer in one piece, for backends that know them."""
    raw: str = field(default="", compare=False, repr=False)
    adapted: tuple[str, ...] = ()
    """Parts of the request that the server refuses, so that they were left out or moved: `temperature`, `system`."""


Delta = TextDelta | ReasoningDelta | ReasoningEnd | ToolCall | StreamEnd


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    end: StreamEnd
    raw: str
    sent: str
    reasoning: str = ""
    """The model's thoughts before it replied."""
    calls: tuple[ToolCall, ...] = ()
    """The tools that it asks for in place of a reply."""


class BackendOptions(BaseModel):
    """Base of each backend's class `Options`: the keys that a study file may have in a model's `options:`."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Backend:
    """A way to reach models; made once a process for each server and shared by all sessions."""

    Options: ClassVar[type[BackendOptions]] = BackendOptions
    # Whether a study names a server for it; what is registered says so.
    server: ClassVar[ServerUse] = "none"
    # Whether its models can ask for tools.
    tools: ClassVar[bool] = False
    # Whether its models can be sent pictures.
    pictures: ClassVar[bool] = False

    def __init__(self, settings: Settings, sleep: Sleep, server: Server | None = None) -> None:
        """Raise SettingsError if a setting is missing."""
        self.sleep = sleep

    def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Give the reply piece by piece, then one `StreamEnd`; raise a BackendError if there is none."""
        raise NotImplementedError

    async def close(self) -> None:
        """Let go of connections and processes."""

    def prepare(self, model: str) -> None:
        """Get the files that a model needs before the first call, which may take long; may raise a BackendError."""

    def holds(self, request: Request) -> bool:
        """Return True if the beginning of a reply may turn out to be reasoning, so that it is not shown at once."""
        return False

    def save(self, request: Request) -> None:
        """Keep for other processes how replies to such a request turned out to begin."""

    @staticmethod
    def not_streamed(model: str, options: Mapping[str, JSON]) -> str:
        """Return the reason why participants read nothing of a model's replies for a while; empty if none is known."""
        return ""


Parsed = TypeVar("Parsed", bound=BackendOptions)


def parse_options(schema: type[Parsed], options: Mapping[str, JSON]) -> Parsed:
    """Read the options of a request, or raise BackendRejected with all that is wrong with them."""
    try:
        return schema.model_validate(dict(options))
    except ValidationError as error:
        faults = " ".join(_fault(fault, list(schema.model_fields)) for fault in error.errors())
        raise BackendRejected(f"The model's options cannot be used: {faults}", reason="bad_options") from None


def option_faults(options_type: type[BackendOptions], options: Mapping[str, JSON]) -> list[str]:
    try:
        options_type.model_validate(dict(options))
    except ValidationError as error:
        return [_fault(fault, list(options_type.model_fields)) for fault in error.errors()]
    return []


def _fault(fault: ErrorDetails, allowed: list[str]) -> str:
    place = ".".join(str(part) for part in fault["loc"])
    said = plain_message(fault)
    said = said[:1].upper() + said[1:]
    if fault["type"] == "extra_forbidden":
        return f"options.{place}: no such option; allowed: {', '.join(allowed)}.{did_you_mean(place, allowed)}"
    if fault["type"] == "missing" or not place:
        return f"options{place and f'.{place}'}: {said[:1].lower()}{said[1:]}."
    return f"options.{place}={fault['input']!r}: {said}."
