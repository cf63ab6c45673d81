"""Servers of tools in processes of their own, over standard input and output and over HTTP, and what they do wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.errors import SettingsError
from app.session.replies.tools import asked
from experiments.study.sections.tools import ToolSet
from storage.registers.offered_tools import differing_tools
from tests.fakes.served import settings_for
from tests.fakes.tool_desk import FIND, Desk, until
from tests.fakes.tool_server import RUN, over_http

pytestmark = pytest.mark.anyio
# What a server does, and how its result is recorded. Each is told to the model, and the last call is made in any case.
FAULTS = {
    "refuse_arguments": ({"tool": "find", "arguments": {"another": "7"}}, "error"),
    "flood": ({"tool": "flood", "arguments": {}}, ""),
    "break_promise": ({"tool": "break_promise", "arguments": {}}, "error"),
    "ask": ({"tool": "ask", "arguments": {}}, "error"),
    "die": ({"tool": "die", "arguments": {}}, "unavailable"),
    "find": (FIND, ""),
    "change": ({"tool": "change", "arguments": {}}, ""),
}
SLOW = {"tool": "slow", "arguments": {}}


@pytest.fixture(params=["stdio", "http"])
def place(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    if request.param == "stdio":
        yield {"command": [sys.executable, "-c", RUN]}
    else:
        with over_http() as url:
            yield {"url": url}


@pytest.mark.nightly
async def test_whatever_a_server_does_is_told_to_the_model(place: dict[str, Any], tmp_path: Path) -> None:
    faults = {name: fault for name, fault in FAULTS.items() if "command" in place or name != "die"}
    calls = [call for call, _ in faults.values()]
    desk = Desk(tmp_path, *calls, package=None, timeout_s=120, max_chars=1000, writes=[], **place)
    try:
        await desk.say()
        ends = [event.data for event in desk.events if event.kind == "returned"]
        assert [end.get("failed", "") for end in ends] == [failed for _, failed in faults.values()]
        assert all(len(end["text"]) <= 1000 for end in ends)
        assert max(end["chars"] for end in ends) == 10_000_000
        assert (desk.kinds[-1], "say" in desk.live.screen.actions) == ("replied", True)
        await until(lambda: differing_tools(desk.database, "desk", desk.study.hash) == {"desk": ["added"]})
        offered = [spec.name for spec in await desk.service.tools.offered(desk.study, "desk")]
        assert "find" in offered
        assert "added" not in offered
    finally:
        await desk.close()


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import sys; print('starting', file=sys.stderr); sys.exit('no licence')", "`no licence`"),
        ("print('hello'); import time; time.sleep(3600)", "2.5 s"),
    ],
)
@pytest.mark.nightly
async def test_a_program_that_is_no_server_is_told_by_what_it_did(
    program: str, told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    limit = 2.5 if told == "2.5 s" else 120
    tools = ToolSet(command=(sys.executable, "-c", program), timeout_s=limit)
    with pytest.raises(SettingsError) as caught:
        await asked(settings_for(tmp_path), tools)
    assert told in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.nightly
async def test_a_slow_server_is_told_to_the_model_and_the_next_call_is_made(
    place: dict[str, Any], tmp_path: Path
) -> None:
    desk = Desk(tmp_path, SLOW, FIND, package=None, timeout_s=20, writes=[], **place)
    try:
        await desk.say()
        ends = [event.data.get("failed", "") for event in desk.events if event.kind == "returned"]
        assert (ends, desk.kinds[-1]) == (["timeout", ""], "replied")
    finally:
        await desk.close()
