"""Calls of tools in Anthropic's messages: as a stream, and in one piece."""

from __future__ import annotations

from typing import Any

from app.backends.anthropic import Messages
from app.backends.base import StreamEnd, TextDelta, ToolCall

CALLS = [ToolCall("a", "look", '{"q":2}'), ToolCall("b", "stop", "{}")]


def block(kind: str, index: int, **more: Any) -> dict[str, Any]:
    return {"type": f"content_block_{kind}", "index": index, **more}


STREAM = [
    {"type": "message_start", "message": {"model": "tutor-1"}},
    block("start", 0, content_block={"type": "text", "text": ""}),
    block("delta", 0, delta={"type": "text_delta", "text": "I look."}),
    block("stop", 0),
    block("start", 1, content_block={"type": "tool_use", "id": "a", "name": "look", "input": {}}),
    block("delta", 1, delta={"type": "input_json_delta", "partial_json": '{"q":'}),
    block("delta", 1, delta={"type": "input_json_delta", "partial_json": "2}"}),
    block("stop", 1),
    block("start", 2, content_block={"type": "tool_use", "id": "b", "name": "stop", "input": {}}),
    block("stop", 2),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    {"type": "message_stop"},
]
WHOLE = {
    "type": "message",
    "model": "tutor-1",
    "stop_reason": "tool_use",
    "content": [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "a", "name": "look", "input": {"q": 2}},
        {"type": "tool_use", "id": "b", "name": "stop", "input": {}},
    ],
}


def test_calls_are_whole_and_come_before_the_end() -> None:
    for events in (STREAM, [WHOLE]):
        decoder = Messages()
        text, *calls, end = [delta for event in events for delta in decoder.read(event)]
        assert text == TextDelta("I look.")
        assert [ToolCall(one.id, one.tool, one.arguments.replace(" ", "")) for one in calls] == CALLS
        assert isinstance(end, StreamEnd)
        assert end.finish_reason == "tool_calls"
