"""Replies of the fake model server in each protocol: OpenAI's two, Anthropic's, as a stream and in one piece; and an
endpoint of nobody's making, as studies describe them for the backend `http`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.fakes.model_reply import TOKENS, Reply

PLACE = {"item_id": "msg_fake", "output_index": 0, "content_index": 0}


class OpenAIReply(Reply):
    """The common part of Chat Completions and Responses."""

    async def error(self, status: int, message: str, code: str | None = None, **headers: str) -> None:
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
        await self.answer(status, json.dumps({"error": error}), **headers)

    async def event(self, **values: Any) -> None:
        await self.raw(f"data: {json.dumps(values, ensure_ascii=False)}\n\n")


class ChatReply(OpenAIReply):
    """POST /v1/chat/completions."""

    @property
    def asked(self) -> str:
        return str(self.body["messages"][-1]["content"])

    def objection(self) -> str | None:
        return None if self.body.get("messages") else "Missing required parameter: 'messages'."

    async def begin(self) -> None:
        await self._choice({"role": "assistant", "content": "", "refusal": None})

    async def say(self, text: str) -> None:
        await self._choice({"content": text})

    async def think(self, text: str) -> None:
        await self._choice({"reasoning_content": text})

    async def refuse(self, text: str) -> None:
        for word in text.split():
            await self._choice({"refusal": f"{word} "})
        await self.finish()

    async def finish(self, reason: str = "stop") -> None:
        await self._choice({}, reason)
        if self.usage and (self.body.get("stream_options") or {}).get("include_usage"):
            prompt, completion = TOKENS
            tokens = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
            await self._chunk([], usage=tokens)
        await self.raw("data: [DONE]\n\n")
        await self.close()

    async def end_only(self) -> None:
        await self.raw("data: [DONE]\n\n")
        await self.close()

    async def fail(self, message: str, code: str | None = None) -> None:
        await self.event(error={"message": message, "type": "server_error", "code": code})
        await self.close()

    async def nothing(self) -> None:
        await self._chunk([])

    async def _choice(self, delta: dict[str, Any], reason: str | None = None) -> None:
        await self._chunk([{"index": 0, "delta": delta, "finish_reason": reason}])

    async def _chunk(self, choices: list[dict[str, Any]], **more: Any) -> None:
        await self.event(
            id="chatcmpl-fake",
            object="chat.completion.chunk",
            created=1_760_000_000,
            model=f"{self.body['model']}-2026",
            system_fingerprint="fp_fake",
            choices=choices,
            **more,
        )


@dataclass
class ResponsesReply(OpenAIReply):
    """POST /v1/responses."""

    number: int = 0
    text: str = ""

    @property
    def asked(self) -> str:
        return str(self.body["input"][-1]["content"])

    def objection(self) -> str | None:
        unknown = sorted({"messages", "max_tokens", "max_completion_tokens", "stop", "seed"} & {*self.body})
        return f"Unsupported parameter: '{unknown[0]}'." if unknown else None

    async def begin(self) -> None:
        await self._typed("response.created", response=self._response("in_progress"))
        await self._typed("response.in_progress", response=self._response("in_progress"))
        await self._typed("response.output_item.added", output_index=0, item=self._item([]))
        await self._typed("response.content_part.added", **PLACE, part=_part(""))

    async def say(self, text: str) -> None:
        self.text += text
        await self._typed("response.output_text.delta", **PLACE, delta=text, logprobs=[])

    async def think(self, text: str) -> None:
        await self._typed("response.reasoning_summary_text.delta", item_id="rs_fake", output_index=0, delta=text)

    async def refuse(self, text: str) -> None:
        for word in text.split():
            await self._typed("response.refusal.delta", **PLACE, delta=f"{word} ")
        await self._typed("response.refusal.done", **PLACE, refusal=text)
        await self.finish()

    async def finish(self, reason: str = "stop") -> None:
        await self._typed("response.output_text.done", **PLACE, text=self.text, logprobs=[])
        await self._typed("response.content_part.done", **PLACE, part=_part(self.text))
        await self._typed("response.output_item.done", output_index=0, item=self._item([_part(self.text)]))
        ended = _ended(reason)
        response = self._response(**ended, usage=self._usage() if self.usage else None)
        await self._typed(f"response.{ended['status']}", response=response)
        await self.close()

    async def end_only(self) -> None:
        await self.finish()

    async def fail(self, message: str, code: str | None = None) -> None:
        if code is None:
            await self._typed("error", code="server_error", message=message, param=None)
        else:
            await self._typed(
                "response.failed", response=self._response("failed", error={"code": code, "message": message})
            )
        await self.close()

    def _usage(self) -> dict[str, Any]:
        return {"input_tokens": TOKENS[0], "output_tokens": TOKENS[1], "total_tokens": sum(TOKENS)}

    def _item(self, content: list[Any]) -> dict[str, Any]:
        return {"id": "msg_fake", "type": "message", "role": "assistant", "status": "completed", "content": content}

    def _response(self, status: str, **more: Any) -> dict[str, Any]:
        return {
            "id": "resp_fake", "object": "response", "status": status, "model": f"{self.body['model']}-2026",
            "output": [self._item([_part(self.text)])] if status == "completed" else [], "error": None, **more,
        }  # fmt: skip

    async def _typed(self, kind: str, **values: Any) -> None:
        data = json.dumps({"type": kind, "sequence_number": self.number, **values}, ensure_ascii=False)
        self.number += 1
        await self.raw(f"event: {kind}\ndata: {data}\n\n")


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _ended(reason: str) -> dict[str, Any]:
    if reason == "stop":
        return {"status": "completed", "incomplete_details": None}
    return {
        "status": "incomplete",
        "incomplete_details": {"reason": {"length": "max_output_tokens"}.get(reason, reason)},
    }


class MessagesReply(Reply):
    """POST /v1/messages, as Anthropic has it."""

    request_id: ClassVar[str] = "request-id"
    words: ClassVar[dict[str, str]] = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
    types: ClassVar[dict[int, str]] = {
        400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
        404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error",
        529: "overloaded_error",
    }  # fmt: skip

    @property
    def asked(self) -> str:
        return str(self.body["messages"][-1]["content"])

    def objection(self) -> str | None:
        if "anthropic-version" not in self.headers:
            return "anthropic-version: header is required"
        if not isinstance(self.body.get("max_tokens"), int):
            return "max_tokens: Field required"
        roles = [message["role"] for message in self.body["messages"]]
        if roles[0] != "user" or {*roles} - {"user", "assistant"}:
            return "messages: Unexpected role"
        return None

    async def error(self, status: int, message: str, code: str | None = None, **headers: str) -> None:
        if code == "insufficient_quota":
            status = 402
        error = {"type": self.types.get(status, "api_error"), "message": message}
        body = {"type": "error", "error": error, "request_id": "req_fake"}
        await self.answer(status, json.dumps(body), **headers)

    async def begin(self) -> None:
        message: dict[str, Any] = {
            "id": "msg_fake", "type": "message", "role": "assistant", "model": f"{self.body['model']}-2026",
            "content": [], "stop_reason": None, "usage": {"input_tokens": TOKENS[0], "output_tokens": 1},
        }  # fmt: skip
        await self._event("message_start", message=message)
        await self._event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        await self._event("ping")

    async def say(self, text: str) -> None:
        await self._event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})

    async def think(self, text: str) -> None:
        await self._event("content_block_start", index=1, content_block={"type": "thinking", "thinking": ""})
        await self._event("content_block_delta", index=1, delta={"type": "thinking_delta", "thinking": text})
        await self._event("content_block_delta", index=1, delta={"type": "signature_delta", "signature": "EqQB"})
        await self._event("content_block_stop", index=1)

    async def refuse(self, text: str) -> None:
        await self._stop({"stop_reason": "refusal", "stop_details": {"type": "refusal", "explanation": text}})

    async def finish(self, reason: str = "stop") -> None:
        await self._event("content_block_stop", index=0)
        await self._stop({"stop_reason": self.words.get(reason, reason), "stop_sequence": None})

    async def end_only(self) -> None:
        await self._event("message_stop")
        await self.close()

    async def fail(self, message: str, code: str | None = None) -> None:
        await self._event("error", error={"type": code or "api_error", "message": message})
        await self.close()

    async def idle(self) -> None:
        await self._event("ping")

    async def _stop(self, delta: dict[str, Any]) -> None:
        told = {"usage": {"output_tokens": TOKENS[1]}} if self.usage else {}
        await self._event("message_delta", delta=delta, **told)
        await self._event("message_stop")
        await self.close()

    async def _event(self, kind: str, **values: Any) -> None:
        await self.raw(f"event: {kind}\ndata: {json.dumps({'type': kind, **values}, ensure_ascii=False)}\n\n")


@dataclass
class _Whole(Reply):
    """A reply in one piece, as a batch asks for it: until the end there is nothing but space, which JSON ignores."""

    text: str = ""

    content_type: ClassVar[str] = "application/json"

    async def begin(self) -> None:
        await self.idle()

    async def say(self, text: str) -> None:
        self.text += text
        await self.idle()

    async def think(self, text: str) -> None:
        await self.idle()

    async def idle(self) -> None:
        await self.raw(" ")

    async def garble(self, text: str = "") -> None:
        await self.raw(f'{{"id": "c{text}", broken')

    async def nothing(self) -> None:
        await self.idle()

    async def end_only(self) -> None:
        await self.raw("{}")
        await self.close()

    async def fail(self, message: str, code: str | None = None) -> None:
        await self.raw(json.dumps({"error": {"message": message, "type": code or "server_error", "code": code}}))
        await self.close()

    def counts(self) -> dict[str, Any]:
        return {"usage": {"input_tokens": TOKENS[0], "output_tokens": TOKENS[1]}} if self.usage else {}

    async def give(self, **values: Any) -> None:
        version = {"model": f"{self.body['model']}-2026"}
        await self.raw(json.dumps({**version, **values}))
        await self.close()


@dataclass
class WholeChat(_Whole, ChatReply):
    """POST /v1/chat/completions without `stream`."""

    async def refuse(self, text: str) -> None:
        await self._choice({"role": "assistant", "content": None, "refusal": text}, "stop")

    async def finish(self, reason: str = "stop") -> None:
        await self._choice({"role": "assistant", "content": self.text, "refusal": None}, reason)

    async def _choice(self, delta: dict[str, Any], reason: str | None = None) -> None:
        counts = {"usage": dict(zip(("prompt_tokens", "completion_tokens"), TOKENS, strict=True))} if self.usage else {}
        choice = {"index": 0, "message": delta, "finish_reason": reason}
        await self.give(id="chatcmpl-fake", object="chat.completion", choices=[choice], **counts)


@dataclass
class WholeResponse(_Whole, ResponsesReply):
    """POST /v1/responses without `stream`."""

    async def refuse(self, text: str) -> None:
        await self._give({"type": "refusal", "refusal": text}, "stop")

    async def finish(self, reason: str = "stop") -> None:
        await self._give(_part(self.text), reason)

    async def _give(self, content: dict[str, Any], reason: str) -> None:
        output = [{"type": "reasoning", "summary": []}, {"type": "message", "content": [content]}]
        await self.give(object="response", output=output, error=None, **_ended(reason), **self.counts())


@dataclass
class WholeMessage(_Whole, MessagesReply):
    """POST /v1/messages without `stream`."""

    async def refuse(self, text: str) -> None:
        told = {"stop_reason": "refusal", "stop_details": {"type": "refusal", "explanation": text}}
        await self.give(type="message", content=[], **self.counts(), **told)

    async def finish(self, reason: str = "stop") -> None:
        blocks = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": self.text}]
        told = {"stop_reason": self.words.get(reason, reason), **self.counts()}
        await self.give(type="message", content=blocks, **told)


class EndpointReply(Reply):
    """POST /v1/speak/sse."""

    words: ClassVar[dict[str, str]] = {"stop": "DONE", "length": "TOO_LONG"}

    @property
    def asked(self) -> str:
        return str(self.body["chat"]["turns"][-1]["content"])

    async def error(self, status: int, message: str, code: str | None = None, **headers: str) -> None:
        await self.answer(status, json.dumps({"detail": message, "code": code}), **headers)

    async def say(self, text: str) -> None:
        await self.value({"output": [{"text": text}], "state": None})

    async def think(self, text: str) -> None:
        await self.value({"thought": text})

    async def refuse(self, text: str) -> None:
        await self.finish("refusal")

    async def finish(self, reason: str = "stop") -> None:
        tokens = dict(zip(("in", "out"), TOKENS, strict=True)) if self.usage else {}
        state = {"why": self.words.get(reason, reason)}
        await self.value({"output": [{"text": ""}], "state": state, "by": f"{self.body['model']}-2026", **tokens})
        await self.close()

    async def end_only(self) -> None:
        await self.raw("data: [DONE]\n\n")
        await self.close()

    async def fail(self, message: str, code: str | None = None) -> None:
        await self.value({"error": {"message": message, "code": code}})
        await self.close()

    async def value(self, value: Any) -> None:
        await self.raw(f"data: {json.dumps(value, ensure_ascii=False)}\n\n")


@dataclass
class WholeReply(EndpointReply):
    """POST /v1/speak/none: the same in one piece of JSON, though its bytes come in several."""

    begun: bool = False

    content_type: ClassVar[str] = "application/json"

    async def say(self, text: str) -> None:
        head = "" if self.begun else '{"output": [{"text": "'
        self.begun = True
        await self.raw(head + json.dumps(text, ensure_ascii=False)[1:-1])

    async def think(self, text: str) -> None:
        await self.idle()

    async def finish(self, reason: str = "stop") -> None:
        await self.say("")
        tokens = f', "in": {TOKENS[0]}, "out": {TOKENS[1]}' if self.usage else ""
        why = self.words.get(reason, reason)
        await self.raw(f'"}}], "state": {{"why": "{why}"}}, "by": "{self.body["model"]}-2026"{tokens}}}')
        await self.close()

    async def end_only(self) -> None:
        await self.say("")
        await self.raw('"}]}')
        await self.close()

    async def fail(self, message: str, code: str | None = None) -> None:
        await self.raw(f'"}}], "error": {json.dumps({"message": message, "code": code})}}}')
        await self.close()

    async def idle(self) -> None:
        await self.raw("" if self.begun else " ")

    async def garble(self, text: str = "") -> None:
        await self.say("")
        await self.raw(f'{text}", broken')


# How an address ends, and what is spoken there.
DIALECTS: dict[str, type[Reply]] = {
    "/chat/completions": ChatReply,
    "/responses": ResponsesReply,
    "/messages": MessagesReply,
    "/speak/sse": EndpointReply,
    "/speak/none": WholeReply,
}
# What is spoken where a stream was not asked for.
WHOLE: dict[type[Reply], type[Reply]] = {
    ChatReply: WholeChat,
    ResponsesReply: WholeResponse,
    MessagesReply: WholeMessage,
}
