"""One reply of the fake model server, and how to write it: well formed here, spoilt in openai_faults."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

FINGERPRINT = "fp_fake"


class Left(Exception):
    """The client has closed the connection."""


@dataclass(slots=True)
class Reply:
    """What a fault writes with: a response on one connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    body: dict[str, Any]

    async def answer(self, status: int, content: str, kind: str = "application/json", **headers: str) -> None:
        """Send a whole response."""
        data = content.encode()
        await self._head(status, {"content-type": kind, "content-length": str(len(data)), **headers})
        await self._write(data)

    async def error(self, status: int, message: str, code: str | None = None, **headers: str) -> None:
        """Send an error in OpenAI's form."""
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
        await self.answer(status, json.dumps({"error": error}), **headers)

    async def open(self) -> None:
        """Begin a stream of events."""
        await self._head(200, {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"})

    async def raw(self, text: str) -> None:
        """Send one piece of the stream as it is."""
        data = text.encode()
        await self._write(b"%x\r\n%b\r\n" % (len(data), data))

    async def say(self, text: str) -> None:
        """Send a piece of the reply."""
        await self.chunk([{"index": 0, "delta": {"content": text}, "finish_reason": None}])

    async def finish(self, reason: str = "stop") -> None:
        """Send the finish reason, the usage if it was asked for, and [DONE]."""
        await self.chunk([{"index": 0, "delta": {}, "finish_reason": reason}])
        if (self.body.get("stream_options") or {}).get("include_usage"):
            await self.chunk([], usage={"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19})
        await self.raw("data: [DONE]\n\n")
        await self.close()

    async def chunk(self, choices: list[dict[str, Any]], **more: Any) -> None:
        """Send one chat.completion.chunk."""
        chunk = {
            "id": "chatcmpl-fake",
            "object": "chat.completion.chunk",
            "created": 1_760_000_000,
            "model": f"{self.body['model']}-2026",
            "system_fingerprint": FINGERPRINT,
            "choices": choices,
            **more,
        }
        await self.raw(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n")

    async def close(self) -> None:
        """End the stream properly."""
        await self._write(b"0\r\n\r\n")

    async def wait(self, seconds: float) -> None:
        """Wait, unless the client leaves."""
        try:
            if await asyncio.wait_for(self.reader.read(1), seconds) == b"":
                raise Left
        except TimeoutError:
            return

    async def _head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Fake", "x-request-id: req_fake"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self._write("\r\n".join([*lines, "", ""]).encode())

    async def _write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()
