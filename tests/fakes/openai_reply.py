"""Replies of the fake model server as OpenAI sends them: Chat Completions and Responses."""

import json
from dataclasses import dataclass
from typing import Any

from tests.fakes.model_reply import TOKENS, Reply

FINGERPRINT = "fp_fake"

PLACE = {"item_id": "msg_fake", "output_index": 0, "content_index": 0}


class OpenAIReply(Reply):
    """What Chat Completions and Responses have in common."""

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

    async def finish(self, reason: str = "stop", *, usage: bool = True) -> None:
        await self._choice({}, reason)
        if usage and (self.body.get("stream_options") or {}).get("include_usage"):
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
            system_fingerprint=FINGERPRINT,
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

    async def finish(self, reason: str = "stop", *, usage: bool = True) -> None:
        await self._typed("response.output_text.done", **PLACE, text=self.text, logprobs=[])
        await self._typed("response.content_part.done", **PLACE, part=_part(self.text))
        await self._typed("response.output_item.done", output_index=0, item=self._item([_part(self.text)]))
        words = {"length": "max_output_tokens"}
        details = None if reason == "stop" else {"reason": words.get(reason, reason)}
        status = "incomplete" if details else "completed"
        response = self._response(status, incomplete_details=details, usage=self._usage() if usage else None)
        await self._typed(f"response.{status}", response=response)
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
