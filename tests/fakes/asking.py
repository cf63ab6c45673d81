"""Requests to a backend: one request, some limits, a clock on which nothing takes time."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import SecretStr

from app.backends import registry, scripted, scripted_user
from app.backends.base import Backend, Delta, PromptMessage, ReasoningEnd, Request, TextDelta
from app.backends.guard import guarded_stream
from app.config.model_servers import Server
from app.config.settings import Settings
from problems.problem import Problem
from tests.fakes.model_faults import reply_to


def limits(**less: float) -> Settings:
    """Settings whose limits of a reply a sound one never reaches, or these of them."""
    most = {"first_token_timeout_s": 100, "token_gap_timeout_s": 100, "reply_timeout_s": 100}
    return Settings(_env_file=None).model_copy(update={**most, "max_reply_chars": 20_000, **less})


ASKED = (PromptMessage("system", "You are a helpful tutor."), PromptMessage("user", "What is 7+(8-3)x2?"))
ABOUT = Problem("sum-1", "What is 7+(8-3)x2?", "What is 7+(8-3)x2?", "sums", answer="the-answer-that-no-server-is-sent")
REQUEST = Request(model="tutor-1", messages=ASKED, temperature=0.7, max_tokens=400, seed="s1", problem=ABOUT)
PATIENT = limits()
HASTY = limits(first_token_timeout_s=0.5, token_gap_timeout_s=0.5, reply_timeout_s=1.5, max_reply_chars=5_000)
# Of each limit, limits of which it alone can be reached, however busy the machine is.
ONE_LIMIT = {
    "timeout_first_token": limits(first_token_timeout_s=0.5),
    "timeout_token_gap": limits(token_gap_timeout_s=0.5),
    "timeout_reply": limits(reply_timeout_s=1.5),
    "too_long": limits(max_reply_chars=5_000),
}
KEY = "sk-a-key-that-nobody-may-ever-read-0123456789"
# What a study says of the fake's endpoints at /v1/speak.
ENDPOINT: Mapping[str, Any] = {
    "body": {"model": "{{model}}", "chat": {"turns": "{{messages}}"}, "heat": "{{temperature}}"},
    "text": "output.0.text",
    "finish": "state.why",
    "finishes": {"DONE": "stop", "TOO_LONG": "length"},
    "version": "by",
    "prompt_tokens": "in",
    "completion_tokens": "out",
    "reasoning_until": "",
}


@dataclass(frozen=True)
class Way:
    """A backend in one of its forms: what a study says to have it."""

    backend: str
    options: Mapping[str, Any] = field(default_factory=dict)
    server: str | None = None


# Every protocol in which Parley asks a model server; of each it is known that text is no reasoning, so that the first
# reply is streamed too.
WAYS = {
    "openai": Way("openai", {"reasoning_until": ""}),
    "openai-responses": Way("openai", {"api": "responses"}),
    "anthropic": Way("anthropic"),
    "http-sse": Way("http", {**ENDPOINT, "path": "/speak/sse", "stream": "sse"}, "fake"),
    "http-none": Way("http", {**ENDPOINT, "path": "/speak/none"}, "fake"),
}
LOCAL = {
    "scripted": Way("scripted"),
    "scripted-user": Way("scripted-user"),
}
# The ways whose replies come in pieces.
PIECEWISE = {**LOCAL, **{name: way for name, way in WAYS.items() if name != "http-none"}}


def settings_at(url: str, key: str = KEY) -> Settings:
    """The settings of a deployment whose model servers are all at `url`."""
    secret = SecretStr(key)
    return Settings(
        openai_base_url=url,
        openai_api_key=secret,
        anthropic_base_url=url,
        anthropic_api_key=secret,
        model_servers={"fake": Server(url=url, key=secret)},
        connect_timeout_s=60,
        _env_file=None,
    )


def whole_reply(way: Way) -> str:
    if way.backend == "scripted-user":
        return scripted_user.reply(REQUEST)
    return (
        scripted.reply(REQUEST, scripted.ScriptedOptions()) if way.backend == "scripted" else reply_to(ASKED[-1].text)
    )


async def no_time(seconds: float) -> None:
    await asyncio.sleep(0)


def create(settings: Settings, way: Way) -> Backend:
    return registry.create(way.backend, settings, no_time, way.server)


def asking(way: Way, **changes: Any) -> Request:
    options = {**way.options, **changes.pop("options", {})}
    return replace(REQUEST, options=options, **changes)


async def collect(backend: Backend, request: Request, limits: Settings = PATIENT) -> list[Delta]:
    async with aclosing(guarded_stream(lambda: backend.stream(request), limits)) as stream:
        return [delta async for delta in stream]


def ask(settings: Settings, way: Way = WAYS["openai"], *, limits: Settings = PATIENT, **changes: Any) -> list[Delta]:
    async def once() -> list[Delta]:
        backend = create(settings, way)
        try:
            return await collect(backend, asking(way, **changes), limits)
        finally:
            await backend.close()

    return asyncio.run(once())


def said(deltas: Iterable[Delta]) -> str:
    text = ""
    for delta in deltas:
        text = "" if isinstance(delta, ReasoningEnd) else text + (delta.text if isinstance(delta, TextDelta) else "")
    return text
