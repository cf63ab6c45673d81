"""Two replies at one place: asked for at once, streamed apart, failed and tried again apart, and exported as pairs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.backends.base import BackendOptions, Delta, End, Request, Text
from app.clock import VirtualClock
from app.counting import Live
from app.errors import BackendRejected
from app.library import load_study
from app.runtime import Runtime
from app.settings import Settings
from storage.engine import open_database
from storage.projections import differences
from tests.fakes import studies
from tests.fakes.backends import registered
from tests.fakes.databases import export

pytestmark = pytest.mark.anyio
MEETING: dict[str, asyncio.Barrier] = {}
FAILS: set[str] = set()
SPEAKERS = {"left": "One", "right": "Another"}
"""How they speak of themselves: their names would tell who they are, and be flagged."""


class Meeting:
    """A backend whose models begin to speak when both are there, so that one after another they never would."""

    Options = BackendOptions

    def __init__(self, settings: Settings, sleep: Any, *_: Any) -> None:
        pass

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Wait for the other, then say who speaks and how much one was told."""
        if request.model in FAILS:
            FAILS.discard(request.model)
            raise BackendRejected("no such model", reason="status_404")
        if MEETING:
            await asyncio.wait_for(MEETING["both"].wait(), 5)
        yield Text(f"{SPEAKERS[request.model]} was told {len(request.messages)}.")
        yield End("stop", request.model, 1, 1)

    async def close(self) -> None:
        """Nothing."""


async def begun(folder: Path) -> tuple[Runtime, Live]:
    """A session that has said Hello to two models."""
    raw = {
        "study": "duel",
        "title": "Duel",
        "records": ["arena"],
        "models": {name: {"backend": "meeting", "system": "", "options": {}} for name in ("left", "right")},
        "flow": [{"step": "compare"}, {"step": "finish"}],
    }
    study = load_study(str(studies.write(folder, raw)))
    runtime = Runtime(open_database(f"sqlite:///{folder}/parley.db"), Settings(_env_file=None), VirtualClock(0))
    runtime.prepare(study)
    live = await runtime.enrol(study, origin="bot", seed="1")
    return runtime, await act(runtime, live, "say", text="Hello")


async def act(runtime: Runtime, live: Live, kind: str, **values: Any) -> Live:
    """An action, and what came of its replies."""
    seen = live.screen
    await runtime.participant(live.stream, kind, seen.path, values, seen=seen.seen, key=f"key-{live.state.seq}")
    await runtime.settled(live.stream)
    return await runtime.live(live.stream) or live


@pytest.fixture(scope="module", autouse=True)
def _meeting() -> Iterator[None]:
    with registered("meeting", Meeting):
        yield


@pytest.fixture(autouse=True)
def _apart() -> Iterator[None]:
    yield
    MEETING.clear()
    FAILS.clear()


async def test_both_are_asked_at_once(tmp_path: Path) -> None:
    MEETING["both"] = asyncio.Barrier(2)
    runtime, live = await begun(tmp_path)
    said, *replied = live.state.events[-3:]
    assert [event.kind for event in replied] == ["replied", "replied"]
    assert {event.data["slot"]: event.data["model"] for event in replied} == said.data["models"]
    assert live.screen.actions == ("vote",)
    await runtime.close()


async def test_one_fails_and_is_asked_again_alone(tmp_path: Path) -> None:
    FAILS.add("left")
    runtime, live = await begun(tmp_path)
    (failed,) = (event for event in live.state.events if event.kind == "failed")
    assert failed.data["model"] == "left"
    live = await act(runtime, live, "retry", slot=failed.data["slot"])
    assert [event.kind for event in live.state.events[-2:]] == ["retried", "replied"]
    assert sum(event.kind == "replied" for event in live.state.events) == 2
    await runtime.close()


async def test_a_vote_is_a_row_at_once_also_of_who_then_leaves(tmp_path: Path) -> None:
    runtime, live = await begun(tmp_path)
    live = await act(runtime, live, "vote", winner="b")
    live = await act(runtime, live, "say", text="And?")
    await runtime.close()
    database = open_database(f"sqlite:///{tmp_path}/parley.db")
    assert list(differences(database)) == []
    export(database, "duel", "arena", tmp_path / "out")
    (row,) = json.loads((tmp_path / "out/arena_conversations.json").read_text(encoding="utf-8"))
    who = next(event.data["models"] for event in live.state.events if event.kind == "said")
    assert (row["model_a"], row["model_b"], row["winner"]) == (who["a"], who["b"], "model_b")
    assert row["conversation_b"] == [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": f"{SPEAKERS[who['b']]} was told 1."},
    ]
    assert (row["turn"], row["anony"]) == (1, True)
