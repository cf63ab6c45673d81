"""Replies of the fake model server as Anthropic sends them: Messages."""

import json
from typing import Any, ClassVar

from tests.fakes.model_reply import TOKENS, Reply


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
        await self._stop({"stop_reason": "refusal", "stop_details": {"type": "refusal", "explanation": text}}, True)

    async def finish(self, reason: str = "stop", *, usage: bool = True) -> None:
        await self._event("content_block_stop", index=0)
        await self._stop({"stop_reason": self.words.get(reason, reason), "stop_sequence": None}, usage)

    async def end_only(self) -> None:
        await self._event("message_stop")
        await self.close()

    async def fail(self, message: str, code: str | None = None) -> None:
        await self._event("error", error={"type": code or "api_error", "message": message})
        await self.close()

    async def idle(self) -> None:
        await self._event("ping")

    async def _stop(self, delta: dict[str, Any], usage: bool) -> None:
        await self._event("message_delta", delta=delta, **({"usage": {"output_tokens": TOKENS[1]}} if usage else {}))
        await self._event("message_stop")
        await self.close()

    async def _event(self, kind: str, **values: Any) -> None:
        await self.raw(f"event: {kind}\ndata: {json.dumps({'type': kind, **values}, ensure_ascii=False)}\n\n")
