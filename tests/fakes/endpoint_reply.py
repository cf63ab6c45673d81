"""Replies of endpoints of nobody's making, as studies describe them for the backend `http`."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.fakes.model_reply import TOKENS, Reply


class EndpointReply(Reply):
    """POST /v1/speak/sse: an endpoint of nobody's making, as studies describe them for `http`."""

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

    async def finish(self, reason: str = "stop", *, usage: bool = True) -> None:
        tokens = dict(zip(("in", "out"), TOKENS, strict=True)) if usage else {}
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


class LinesReply(EndpointReply):
    """POST /v1/speak/lines: the same with a value in each line."""

    content_type: ClassVar[str] = "application/x-ndjson"

    async def idle(self) -> None:
        await self.raw("\n")

    async def garble(self, text: str = "") -> None:
        await self.raw(f'{{"id": "c{text}", broken\n')

    async def end_only(self) -> None:
        await self.close()

    async def value(self, value: Any) -> None:
        await self.raw(f"{json.dumps(value, ensure_ascii=False)}\n")


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

    async def finish(self, reason: str = "stop", *, usage: bool = True) -> None:
        await self.say("")
        tokens = f', "in": {TOKENS[0]}, "out": {TOKENS[1]}' if usage else ""
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
