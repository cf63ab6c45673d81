"""The bicycle shop in conversations: its state is what their calls have made of it, and each problem begins anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.sitting import Sitting
from tests.fakes.tool_server import NAME, offered

pytestmark = pytest.mark.anyio
ORDER = {"order": "1042"}


async def called(folder: Path, package: str, calls: list[list[dict[str, Any]]]) -> list[list[str]]:
    """The results of calls in two conversations, each about a problem; every message finds a process of its own."""
    raw = {
        "study": "shop",
        "title": "Shop",
        "problems": {"items": {"items": [{"question": "One?"}, {"question": "Two?"}]}},
        "models": {"one": {"backend": "scripted", "options": {"calls": calls, "first_ms": 0, "pace_ms": 0}}},
        "tools": {"shop": {"package": package}},
        "flow": [
            {"each": "item", "of": "items", "flow": [{"step": "chat", "model": "one", "tools": "shop"}]},
            {"step": "finish"},
        ],
    }
    shop = await Sitting(folder, raw).begin()
    for _ in range(2):
        for kind, said in (*(("say", {"text": "Well?"}) for _ in calls), ("submit", {})):
            await shop.kill()
            shop.start()
            await (await shop.act(kind, **said)).settle()
    paths: dict[str, list[str]] = {}
    for event in shop.events:
        if event.kind == "returned":
            paths.setdefault(event.path, []).append(event.data["text"])
    await shop.close()
    return list(paths.values())


async def test_each_conversation_begins_with_the_shop_as_it_is_and_goes_on_in_any_process(tmp_path: Path) -> None:
    get, cancel = {"tool": "get_order", "arguments": ORDER}, {"tool": "cancel_order", "arguments": ORDER}
    found = await called(tmp_path, "bicycle-shop", [[get, cancel], [get]])
    states = [[text.split("status: ")[1].split("\n")[0] for text in texts] for texts in found]
    assert states == [["pending", "cancelled", "cancelled"]] * 2


async def test_a_server_of_its_own_has_another_session_with_each_problem(tmp_path: Path) -> None:
    with offered():
        find = {"tool": "find", "arguments": {"order": "7"}}
        one, two = await called(tmp_path, NAME, [[find], [find]])
    assert (len(set(one)), len(set(two)), len({*one, *two})) == (1, 1, 2)
