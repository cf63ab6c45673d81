"""A reply before which a model may call tools, without a participant: calls that need approval are refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from app.backends.base import Backend, Completion, PromptMessage, Request
from app.backends.completion import complete
from app.config.settings import Settings
from app.errors import BackendBroken, BackendError
from app.tools.calls import calls_data
from app.tools.connection import ToolConnection
from experiments.session.tool_calls import NOT_ALLOWED
from experiments.study.sections.tools import ToolSet


class Tokens(NamedTuple):
    """Those of several requests; None where those of one are unknown."""

    prompt: int | None
    completion: int | None

    def plus(self, prompt: int | None, completion: int | None) -> Tokens:
        known = zip(self, (prompt, completion), strict=True)
        return Tokens(*(None if a is None or b is None else a + b for a, b in known))


async def complete_with_tools(
    backend: Backend, request: Request, limits: Settings, tools: ToolSet, connection: ToolConnection
) -> Completion:
    """The reply after the calls, which `sent` has with their results; the tokens are those of all requests."""
    left, used = tools.max_calls, Tokens(0, 0)
    while True:
        try:
            reply = await complete(backend, replace(request, may_call=left > 0), limits)
        except BackendError as failed:
            if request.messages[-1].role == "tool":
                failed.tokens = used.plus(*(number or 0 for number in failed.tokens))
            raise
        used = used.plus(reply.end.prompt_tokens, reply.end.completion_tokens)
        if not reply.calls:
            return replace(reply, end=replace(reply.end, prompt_tokens=used.prompt, completion_tokens=used.completion))
        if left <= 0:
            error = BackendBroken("The model asked for tools after its last call.", reason="too_many_calls")
            error.tokens = used
            raise error
        calls = calls_data(reply.calls, request.tools, left)
        left -= len(calls)
        results = [PromptMessage("tool", await _result(call, tools, connection), call_id=call["id"]) for call in calls]
        asked = PromptMessage("assistant", reply.text, reply.calls)
        request = replace(request, messages=(*request.messages, asked, *results))


async def _result(call: Mapping[str, str], tools: ToolSet, connection: ToolConnection) -> str:
    if "invalid" in call:
        return call["invalid"]
    if tools.asks(call["tool"]):
        return NOT_ALLOWED
    return (await connection.call(call["tool"], json.loads(call["arguments"] or "{}"))).text
