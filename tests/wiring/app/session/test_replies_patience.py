"""Models that fail: tried again with pauses, replaced by others, left alone; every attempt is kept, and the study says
what follows. The model is played by a backend that fails as it is told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.clock import VirtualClock
from app.errors import BackendBroken, BackendDenied, BackendError, BackendUnavailable
from tests.fakes import studies
from tests.fakes.backends import PLAYS, Play, Played, registered
from tests.fakes.sitting import Sitting
from tests.wiring.reading import query

pytestmark = pytest.mark.anyio
AWAY = BackendUnavailable("away", reason="connection")
BUSY = BackendUnavailable("busy", reason="status_429", retry_after_s=7)
FULL = BackendUnavailable("busy for long", reason="status_429", retry_after_s=600)
WRONG = BackendDenied("no such model", reason="status_404")
BLANK = BackendBroken("empty", reason="empty_reply")


@pytest.fixture(scope="module", autouse=True)
def played() -> Iterator[None]:
    with registered("played", Played):
        yield


class Talk(Sitting):
    """At its chat, in time that only passes when it is told to."""

    def __init__(
        self,
        folder: Path,
        chat: dict[str, Any],
        models: dict[str, Any],
        study: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        raw = studies.read_yaml(studies.chat(folder, backend="played", options={}, model="first"))
        raw |= {"models": models, **(study or {})}
        raw["flow"][1]["with"] = {"with_ai": {"model": "only", **chat}}
        super().__init__(folder, raw, VirtualClock(0), **settings)

    async def begin(self) -> Talk:
        await super().begin(origin="bot")
        await self.act("submit", agreed="on")
        while not self.live.screen.panel.chat:
            await self.act("submit", confidence="very-confident")
        return await self.act("say", text="Hello")

    async def act(self, kind: str, /, **values: Any) -> Talk:
        await super().act(kind, **values)
        return await self.settle()

    def kinds(self) -> list[str]:
        return [event.kind for event in self.live.state.events if "with_ai" in event.path]

    def attempts(self) -> list[tuple[Any, ...]]:
        sql = "SELECT number, model, reason, text, version, cost FROM attempt ORDER BY turn, slot, number"
        return query(self.database, sql)


Talks = Callable[..., Talk]


@pytest.fixture
async def talks(tmp_path: Path) -> AsyncIterator[Talks]:
    made: list[Talk] = []

    def make(*given: Any, **more: Any) -> Talk:
        made.append(Talk(tmp_path, *given, **more))
        return made[-1]

    yield make
    for talk in made:
        await talk.close()


PRICE = {"prompt": 2.0, "completion": 10.0}


def models(*fallback: str, **more: Any) -> dict[str, Any]:
    first = {"backend": "played", "model": "first", "price": PRICE, "fallback": list(fallback), **more}
    return {"only": first, **{name: {"backend": "played", "model": name} for name in fallback}}


@pytest.mark.parametrize(
    ("play", "reasons", "waited_s"),
    [
        ([AWAY, AWAY], ["connection", "connection", None], 3.0),
        ([BUSY], ["status_429", None], 7.0),
        ([BLANK], ["empty_reply", None], 0.0),
    ],
)
async def test_what_may_pass_is_tried_again(
    talks: Talks, play: list[Exception | str], reasons: list[str | None], waited_s: float
) -> None:
    PLAYS["first"] = list(play)
    talk = await talks({}, models()).begin()
    assert talk.kinds()[-2:] == ["said", "replied"]
    found = talk.attempts()
    assert [row[2] for row in found] == reasons
    assert [row[3] for row in found] == [""] * len(play) + ["Good."]
    assert found[-1][4:] == ("first-v1", pytest.approx((2 * 1_000 + 10 * 10) / 1e6))
    assert talk.clock.now_us() / 1e6 == pytest.approx(waited_s, rel=0.3)


@pytest.mark.parametrize(
    ("play", "count"), [([AWAY] * 9, 3), ([WRONG], 1), ([FULL], 1), ([BLANK, BLANK], 2), ([AWAY, WRONG], 2)]
)
async def test_what_will_not_pass_is_a_failure(talks: Talks, play: Sequence[Exception], count: int) -> None:
    PLAYS["first"] = list(play)
    talk = await talks({}, models()).begin()
    assert talk.kinds()[-2:] == ["said", "failed"]
    assert len(talk.attempts()) == count
    chat = talk.live.screen.panel.chat
    assert chat is not None
    assert chat.failed
    assert talk.live.screen.actions[0] == "retry"


@pytest.mark.parametrize("error", [AWAY, BUSY, WRONG, BLANK])
async def test_what_could_be_read_of_a_reply_that_broke_off_stays_until_it_is_asked_for_again(
    talks: Talks, error: BackendError
) -> None:
    PLAYS["first"] = [("Half of it ", error)]
    talk = await talks({}, models("second")).begin()
    assert [row[2:4] for row in talk.attempts()] == [(error.reason, "Half of it")]
    assert talk.live.state.events[-1].data["text"] == "Half of it"
    assert talk.said == [("You", "Hello"), ("Bot", "Half of it")]
    assert talk.live.screen.actions[0] == "retry"
    await talk.act("retry")
    assert talk.said == [("You", "Hello"), ("Bot", "Good.")]
    assert talk.live.screen.actions[0] == "say"


@pytest.mark.parametrize("reason", ["content_filter", "refusal"])
async def test_of_a_reply_that_was_refused_nothing_stays(talks: Talks, reason: str) -> None:
    PLAYS["first"] = [("Half ", BackendBroken("no", reason=reason))]
    talk = await talks({}, models()).begin()
    assert talk.said == [("You", "Hello")]
    assert talk.live.screen.actions[0] == "say"


@pytest.mark.parametrize(("play", "text", "ending"), [
    ("Good word. " * 30, ("Good word. " * 30)[:100], "too_long"),
    (("Half of it ", BackendUnavailable("slow", reason="timeout_reply")), "Half of it", "timeout_reply"),
])  # fmt: skip
async def test_a_reply_is_cut_at_a_limit_and_kept(talks: Talks, play: Play, text: str, ending: str) -> None:
    PLAYS["first"] = [play]
    talk = await talks({}, models(), max_reply_chars=100).begin()
    replied = talk.live.state.events[-1]
    assert (replied.kind, replied.data["text"], replied.data["finish_reason"]) == ("replied", text.strip(), ending)
    chat = talk.live.screen.panel.chat
    assert chat is not None
    assert chat.messages[-1].ended == "cut_off"
    assert [row[2] for row in talk.attempts()] == [None]
    await talk.act("say", text="Go on")
    assert talk.said[-1] == ("Bot", "Good.")


@pytest.mark.parametrize(
    ("policy", "told", "tries"),
    [("flag", "I am ChatGPT.", 1), ("mask", "I am […].", 1), ("regenerate", "I help.", 2)],
)
async def test_a_reply_that_tells_its_model_is_flagged_and_treated_as_the_study_says(
    talks: Talks, policy: str, told: str, tries: int
) -> None:
    PLAYS["first"] = ["I am ChatGPT.", "I help."]
    talk = await talks({}, models(), study={"on_identity_leak": policy}).begin()
    replied = next(event for event in talk.live.state.events if event.kind == "replied")
    assert replied.data["text"] == told
    flags = [event.data for event in talk.live.state.events if event.kind == "flagged"]
    assert flags == ([] if policy == "regenerate" else [{"what": "leak", "words": ["ChatGPT"]}])
    assert [row[2] for row in talk.attempts()] == ["leak", None][-tries:]
    await talk.act("say", text="Go on")  # a flag refuses no click
