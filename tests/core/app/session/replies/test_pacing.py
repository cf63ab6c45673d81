"""Words appear after the delay and at the pace, on a loop on which nothing takes time but sleep."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.backends.base import TextDelta
from app.session.replies.buffer import ReplyBuffer
from app.session.replies.pacing import paced_outcome
from app.session.replies.tasks import fixed_reply
from experiments.events import Action, Data, PendingTask
from tests.core.test_replies import Leaping

TEXT = "One two three. And a word more than that."


class LoopClock:
    def now_us(self) -> int:
        return round(asyncio.get_running_loop().time() * 1e6)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    wait = sleep


@dataclass
class Told:
    """The outcome, what was recorded before it, and what a listener read by when, in seconds."""

    outcome: Action
    recorded: list[Action]
    heard: list[tuple[str, float]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.heard)

    def by(self, at_s: float) -> str:
        return "".join(text for text, when in self.heard if when <= at_s + 1e-6)


def pace(  # noqa: C901  (what a process does with one reply)
    *,
    pieces: Sequence[tuple[float, str]] = (),
    from_s: float = 0,
    pace: float = 0,
    stop_s: float | None = None,
    now_s: float = 0,
    **data: Any,
) -> Told:
    """A reply whose pieces come at these times, in a process that begins at `now_s`."""
    task = PendingTask(
        "reply", "chat", {"model": "m", "pacing": {"from_us": round(from_s * 1e6), "pace": pace}, **data}
    )
    recorded: list[Action] = []
    heard: list[tuple[str, float]] = []

    async def talk() -> Action:
        loop, reply = asyncio.get_running_loop(), ReplyBuffer(paced=True, mark=data.get("mark", ""))

        async def get() -> Action:
            reply.begin()
            if (fixed := fixed_reply(task)) is not None:
                reply.add(fixed.data["text"])
                return fixed
            async with reply.stopping.heeded():
                for at_s, text in pieces:
                    await asyncio.sleep(at_s - loop.time())
                    reply.take(TextDelta(text))
            return Action("reply", "chat", {"text": reply.text.strip(), "finish_reason": "stop"}, 0, by="model")

        async def record(action: Action) -> None:
            recorded.append(action)

        async def listen() -> None:
            async for text, _ in reply.follow(0):
                heard.append((text, round(loop.time(), 3)))

        await asyncio.sleep(now_s)
        listener = asyncio.create_task(listen())
        if stop_s is not None:
            loop.call_at(stop_s, reply.stopping.give)
        outcome = await paced_outcome(task, reply, get, record, LoopClock())
        reply.end()
        await listener
        return outcome

    with asyncio.Runner(loop_factory=Leaping) as runner:
        return Told(runner.run(talk()), recorded, [one for one in heard if one[0]])


def test_words_appear_at_the_pace_and_never_before_they_have_come() -> None:
    told = pace(pieces=[(0.1, TEXT)], pace=10)
    assert told.text == TEXT
    for text, at_s in told.heard:
        assert told.by(at_s).endswith((" ", "that."))
        assert abs(len(told.by(at_s)) - len(text) - 10 * (at_s - 0.1)) < 1e-6, "as many as the pace has room for"
    slow = pace(pieces=[(1, "One tw"), (5, "o three"), (6, ".")], pace=1000)
    assert slow.heard == [("One ", 1.0), ("two ", 5.0), ("three.", 6.0)]


@pytest.mark.parametrize(("stop_s", "shown"), [(1.0, ""), (2.0, "One two"), (2.5, "One two three.")])
def test_a_reply_that_is_stopped_is_what_was_shown(stop_s: float, shown: str) -> None:
    told = pace(pieces=[(0.1, TEXT), (9, " Later.")], from_s=1.5, pace=10, stop_s=stop_s)
    assert told.text.strip() == shown
    if shown:
        assert (told.outcome.data["text"], told.outcome.data["finish_reason"]) == (shown, "stopped")
    else:
        assert (told.outcome.kind, told.outcome.data["reason"], "text" in told.outcome.data) == (
            "fail",
            "stopped",
            False,
        )
    assert told.recorded == []


@pytest.mark.parametrize("now_s", [0.2, 2.1, 60.0])
def test_after_a_restart_the_words_go_on_by_the_clock_and_no_model_is_called(now_s: float) -> None:
    before = pace(pieces=[(0.1, TEXT)], from_s=0, pace=10)
    (written,) = before.recorded
    assert (written.kind, written.data["text"], written.data["shown"]) == ("write", TEXT, 4)
    after = pace(pace=10, now_s=now_s, written={**written.data, "at_us": 100_000})
    assert after.text == TEXT
    assert after.recorded == []
    assert after.outcome.data["text"] == TEXT
    assert not {"shown", "at_us"} & after.outcome.data.keys()
    assert after.by(now_s).startswith(before.by(now_s)), "what was on the screen is there again at once"
    if now_s > 10:
        assert after.heard == [(TEXT, now_s)]


@given(st.lists(st.text("ab", min_size=1, max_size=3), max_size=12), st.text("ab", min_size=1, max_size=5))
def test_a_mark_is_found_however_it_is_cut(pieces: list[str], mark: str) -> None:
    reply, text = ReplyBuffer(mark=mark), "".join(pieces)
    before, found, _ = text.partition(mark)
    for number, piece in enumerate(pieces, 1):
        reply.add(piece)
        so_far = "".join(pieces[:number])
        hidden = next((size for size in range(len(mark) - 1, 0, -1) if so_far.endswith(mark[:size])), 0)
        assert reply.shown == (before if mark in so_far else so_far[: len(so_far) - hidden])
        assert reply.text == so_far.partition(mark)[0]
    reply.end()
    assert (reply.shown, reply.marked) == (before, bool(found))


def test_a_reply_that_fails_keeps_what_was_shown() -> None:
    fail: Data = {"reason": "unreachable", "text": TEXT}

    async def talk() -> Action:
        reply = ReplyBuffer(paced=True)
        task = PendingTask("reply", "chat", {"model": "m", "pacing": {"from_us": 0, "pace": 10}})

        async def get() -> Action:
            reply.take(TextDelta(TEXT))
            await asyncio.sleep(0.65)
            return Action("fail", "chat", fail, 0, by="model")

        async def record(action: Action) -> None:
            raise AssertionError(action)

        return await paced_outcome(task, reply, get, record, LoopClock())

    with asyncio.Runner(loop_factory=Leaping) as runner:
        assert runner.run(talk()).data["text"] == "One two"
