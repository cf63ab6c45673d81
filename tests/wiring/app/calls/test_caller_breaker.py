"""The circuit breaker: what one participant writes takes the model from nobody else; a server that is away is left
alone, for everybody, and asked again by somebody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.errors import BackendDenied, BackendError, BackendUnavailable
from tests.fakes.backends import PLAYS, Played, registered
from tests.wiring.app.session.test_replies_patience import Talk, models

pytestmark = pytest.mark.anyio
FAILURES, PAUSE_S = 5, 30
# What says that nobody gets a reply.
HEALTH = [
    BackendUnavailable("away", reason="connection"),
    BackendUnavailable("busy", reason="status_503", retry_after_s=600),
    BackendUnavailable("busy", reason="status_429"),
    BackendUnavailable("slow", reason="timeout_first_token"),
    BackendDenied("who are you", reason="status_401"),
]
# That of it to which the rate limiter says nothing.
UNLIMITED = [error for error in HEALTH if error.reason != "status_429"]


@pytest.fixture(scope="module", autouse=True)
def played() -> Iterator[None]:
    with registered("played", Played):
        yield


@pytest.fixture(autouse=True)
def _over() -> Iterator[None]:
    yield
    PLAYS.clear()


class Room:
    """Several participants of one study, each at their chat."""

    def __init__(self, folder: Path, people: int, **more: int) -> None:
        known = {
            "breaker_failures": FAILURES,
            "breaker_pause_s": PAUSE_S,
            "model_attempts": 1,
            "messages_per_minute": 10_000,
        }
        self.talk, self.people = Talk(folder, {}, models(), **(known | more)), people
        self.lives: list[str] = []

    async def begin(self) -> Room:
        for _ in range(self.people):
            await self.talk.begin()
            self.lives.append(self.talk.live.stream)
        return self

    async def say(self, who: int) -> str:
        """A message of somebody's, or the same again; what became of it: its text, or the reason why there is none."""
        self.talk.live = found = await self.talk.service.get(self.lives[who])
        await (self.talk.act("retry") if "retry" in found.screen.actions else self.talk.act("say", text="Hello"))
        return str(self.talk.live.state.events[-1].data.get("text", self.talk.live.state.events[-1].data.get("reason")))


def fails(error: BackendError, times: int) -> None:
    PLAYS["first"] = [error] * times


async def test_of_one_session_one_failure_in_a_row_counts(tmp_path: Path) -> None:
    room = await Room(tmp_path, 2).begin()
    for error in UNLIMITED:
        fails(error, 3 * FAILURES)
        assert {await room.say(0) for _ in range(3 * FAILURES)} == {error.reason}
        assert await room.say(1) == "Good."
    await room.talk.close()


@pytest.mark.parametrize("error", HEALTH, ids=[one.reason for one in HEALTH])
async def test_a_server_that_fails_for_several_is_left_alone_for_everybody(tmp_path: Path, error: BackendError) -> None:
    room = await Room(tmp_path, FAILURES + 1).begin()
    fails(error, FAILURES)
    assert [await room.say(who) for who in range(FAILURES)] == [error.reason] * FAILURES
    assert [await room.say(who) for who in range(FAILURES + 1)] == ["circuit_open"] * (FAILURES + 1)
    room.talk.clock.advance(PAUSE_S + 1)
    assert [await room.say(who) for who in range(FAILURES + 1)] == ["Good."] * (FAILURES + 1)
    await room.talk.close()
