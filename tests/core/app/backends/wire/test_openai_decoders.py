"""Which of several choices is the reply, in whatever order a server sends them."""

from typing import Any

import pytest

from app.backends.base import TextDelta
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
