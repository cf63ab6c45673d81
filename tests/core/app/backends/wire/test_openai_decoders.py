"""What is the reply in an answer of OpenAI's protocols: one of its choices, no thoughts, calls put together."""

from typing import Any

import pytest

from app.backends.base import Delta, StreamEnd, TextDelta, ToolCall
from app.backends.wire.openai_decoders import ChatCompletions, Responses


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


def spoken(events: list[dict[str, Any]]) -> str:
    decoder = Responses()
    return "".join(one.text for event in events for one in decoder.read(event) if isinstance(one, TextDelta))


@pytest.mark.parametrize("known_by", [{"item_id"}, {"output_index"}, {"item_id", "output_index"}])
def test_thoughts_are_told_by_the_item_that_they_belong_to(known_by: set[str]) -> None:
    def added(kind: str, item: str, place: int) -> dict[str, Any]:
        return {"type": "response.output_item.added", "item": {"type": kind, "id": item}, "output_index": place}

    def words(text: str, item: str, place: int) -> dict[str, Any]:
        where = {"item_id": item, "output_index": place}
        return {"type": "response.output_text.delta", "delta": text} | {name: where[name] for name in known_by}

    events = [
        added("reasoning", "r", 0),
        words("Let me think.", "r", 0),
        added("message", "m", 1),
        words("Twe", "m", 1),
    ]
    assert spoken([*events, added("reasoning", "s", 2), words("Hm.", "s", 2), words("lve.", "m", 1)]) == "Twelve."


def test_thoughts_of_a_whole_response_are_no_part_of_the_reply() -> None:
    thought, told = (
        {"type": kind, "content": [{"type": "output_text", "text": text}]}
        for kind, text in (("reasoning", "Let me think."), ("message", "Twelve."))
    )
    assert spoken([{"status": "completed", "output": [thought, told]}]) == "Twelve."
    assert spoken([{"status": "completed", "output": [thought]}]) == ""
