"""A server of tools that others wrote, over standard input and output: tau2-bench's mock domain."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.tool_desk import Desk

pytestmark = [pytest.mark.nightly, pytest.mark.anyio]
TITLE = "Buy oat milk"
CALLS = (
    {"tool": "reset_state", "arguments": {}},
    {"tool": "create_task", "arguments": {"user_id": "user_1", "title": TITLE}},
    {"tool": "create_task", "arguments": {"user_id": "nobody", "title": TITLE}},
    {"tool": "get_users", "arguments": {}},
)


async def test_the_tools_of_another_are_called(readers_python: str, tmp_path: Path) -> None:
    command = [str(Path(readers_python).with_name("tau2-mock-mcp-eval"))]
    writes = ["create_task", "reset_state"]
    desk = Desk(tmp_path, *CALLS, package=None, command=command, writes=writes, approve="never", timeout_s=110)
    try:
        await desk.say()
        _, made, refused, users = (event.data for event in desk.events if event.kind == "returned")
        assert (TITLE in made["text"], "failed" in made) == (True, False)
        assert "nobody" in refused["text"]
        assert "task_2" in users["text"]
        assert desk.kinds[-1] == "replied"
    finally:
        await desk.close()
