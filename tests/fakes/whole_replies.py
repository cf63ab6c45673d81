"""Replies of the fake model server in one piece, as a batch asks for them: OpenAI's two interfaces and Anthropic's.

Until the end there is nothing but space, which stands before JSON as well as not.
"""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.fakes.anthropic_reply import MessagesReply
from tests.fakes.model_reply import TOKENS, Reply
from tests.fakes.openai_reply import ChatReply, ResponsesReply

WORDS = {"input_tokens": TOKENS[0], "output_tokens": TOKENS[1]}


@dataclass
class _Whole(Reply):
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

    async def give(self, **values: Any) -> None:
        version = {"model": f"{self.body['model']}-2026"}
        await self.raw(json.dumps({**version, **values}))
        await self.close()


@dataclass
class WholeChat(_Whole, ChatReply):
    """POST /v1/chat/completions without `stream`."""

    async def refuse(self, text: str) -> None:
        await self._choice({"role": "assistant", "content": None, "refusal": text}, "stop")

    async def finish(self, reason: str = "stop", *, usage: bool = True) -> None:
        await self._choice({"role": "assistant", "content": self.text, "refusal": None}, reason, usage=usage)

    async def _choice(self, delta: dict[str, Any], reason: str | None = None, *, usage: bool = True) -> None:
        counts = {"usage": dict(zip(("prompt_tokens", "completion_tokens"), TOKENS, strict=True))} if usage else {}
        choice = {"index": 0, "message": delta, "finish_reason": reason}
        await self.give(id="chatcmpl-fake", object="chat.completion", choices=[choice], **counts)


@dataclass
class WholeResponse(_Whole, ResponsesReply):
    """POST /v1/responses without `stream`."""

    async def refuse(self, text: str) -> None:
        await self._give([{"type": "refusal", "refusal": text}], "stop")

    async def finish(self, reason: str = "stop", *, usage: bool = True) -> None:
        await self._give([{"type": "output_text", "text": self.text}], reason, usage=usage)

    async def _give(self, content: list[Any], reason: str, *, usage: bool = True) -> None:
        why = {"length": "max_output_tokens"}.get(reason, reason)
        ended = {"status": "completed"} if reason == "stop" else {"status": "incomplete"}
        more = {"incomplete_details": {"reason": why}} if reason != "stop" else {}
        thought = {"type": "reasoning", "summary": []}
        output = [thought, {"type": "message", "content": content}]
        await self.give(
            object="response", output=output, error=None, **ended, **more, **({"usage": WORDS} if usage else {})
        )


@dataclass
class WholeMessage(_Whole, MessagesReply):
    """POST /v1/messages without `stream`."""

    async def refuse(self, text: str) -> None:
        told = {"stop_reason": "refusal", "stop_details": {"type": "refusal", "explanation": text}}
        await self.give(type="message", content=[], usage=WORDS, **told)

    async def finish(self, reason: str = "stop", *, usage: bool = True) -> None:
        blocks = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": self.text}]
        told = {"stop_reason": self.words.get(reason, reason), **({"usage": WORDS} if usage else {})}
        await self.give(type="message", content=blocks, **told)


WHOLE: dict[type[Reply], type[Reply]] = {
    ChatReply: WholeChat,
    ResponsesReply: WholeResponse,
    MessagesReply: WholeMessage,
}
"""What is spoken where a stream was not asked for."""
