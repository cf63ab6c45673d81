"""Which of several choices is the reply, in whatever order a server sends them."""

from typing import Any

import pytest

from app.backends.base import Delta, StreamEnd, TextDelta, ToolCall
from app.backends.wire.openai_decoders import ChatCompletions


def choice(index: int, text: str, form: str) -> dict[str, Any]:
    return {"index": index, form: {"content": text}, "finish_reason": "stop"}


@pytest.mark.parametrize(
    ("form", "chunks"),
    [
        ("message", [[(1, "other"), (0, "reply")]]),
        ("delta", [[(1, "other"), (0, "reply")]]),
        ("delta", [[(1, "other")], [(0, "reply")]]),
        ("delta", [[(1, "ot"), (0, "re")], [(0, "ply"), (1, "her")]]),
    ],
)
def test_the_reply_is_the_choice_of_index_0(form: str, chunks: list[list[tuple[int, str]]]) -> None:
    decoder = ChatCompletions()
    read = [delta for chunk in chunks for delta in decoder.read({"choices": [choice(*one, form) for one in chunk]})]
    assert "".join(delta.text for delta in read if isinstance(delta, TextDelta)) == "reply"


def calls_of(chunks: list[list[dict[str, Any]]], form: str = "delta") -> list[ToolCall]:
    decoder = ChatCompletions()
    read: list[Delta] = []
    for pieces in chunks:
        read += decoder.read({"choices": [{"index": 0, form: {"content": None, "tool_calls": pieces}}]})
    end = [
        *decoder.read({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        *decoder.end(done=True),
    ]
    assert isinstance(end[-1], StreamEnd)
    assert end[-1].finish_reason == "tool_calls"
    return [delta for delta in [*read, *end] if isinstance(delta, ToolCall)]


def piece(index: int | None, name: str = "", arguments: Any = "", call: str = "") -> dict[str, Any]:
    where = {} if index is None else {"index": index}
    return where | ({"id": call} if call else {}) | {"function": {"name": name or None, "arguments": arguments}}


@pytest.mark.parametrize(
    "chunks",
    [
        [[piece(0, "look", "", "a"), piece(1, "book", '{"n"', "b")], [piece(1, "", ": 1}"), piece(0, "", '{"q": 2}')]],
        [[piece(None, "look", '{"q": 2}', "a"), piece(None, "book", '{"n": 1}', "b")]],
        [[piece(0, "look", '{"q": ', "a")], [piece(0, "look", "2}")], [piece(1, "book", '{"n": 1}', "b")]],
    ],
)
def test_calls_of_tools_are_put_together_by_index(chunks: list[list[dict[str, Any]]]) -> None:
    assert calls_of(chunks) == [ToolCall("a", "look", '{"q": 2}'), ToolCall("b", "book", '{"n": 1}')]


def test_a_call_without_an_id_gets_one_and_arguments_may_be_an_object() -> None:
    assert calls_of([[piece(0, "look", {"q": 2})]]) == [ToolCall("call_0", "look", '{"q": 2}')]
