"""Replies that are checked before they are shown, and judges whom they wait for or not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from app.errors import BackendRejected
from experiments.views.fidelity import verdicts
from tests.fakes.sitting import Sitting
from tests.fakes.stepping_model import ASKED, Asking
from tests.wiring.reading import facts, query

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("stepped")]
ASKS = {"name": "asks", "must": "question", "ask_again": 2}
JUDGE = {"name": "calm", "must": "judge", "annotator": "tone", "value": "calm", "one_of": ["true"]}
SCHEMA = {"type": "object", "properties": {"calm": {"type": "boolean"}}, "required": ["calm"]}
PRICE = {"prompt": 0, "completion": 1}
NO, YES = '{"calm": false}', '{"calm": true}'


class Talk(Sitting):
    """In a chat whose models a test steps."""

    def __init__(self, folder: Path, *rules: dict[str, Any], **design: Any) -> None:
        model = {"backend": "stepping", "system": "", "options": {}, "price": PRICE, "max_tokens": 1000}
        raw = {
            "study": "talk",
            "title": "Talk",
            "problems": {"items": {"items": [{"question": "Well?"}]}},
            "models": {"one": model, "judge": model},
            "annotators": {"tone": {"prompt": "{{conversation}}", "answer_schema": SCHEMA, "model": "judge"}},
            "fidelity": [*rules],
            "flow": [
                {"each": "item", "of": "items", "flow": [{"step": "chat", "model": "one", **design}]},
                {"step": "finish"},
            ],
        }
        super().__init__(folder, raw)

    async def say(self) -> Talk:
        if not hasattr(self, "live"):
            await self.begin()
        return await self.act("say", text="Hm")

    async def asked(self, number: int) -> Asking:
        """The call of this number of any model, from 1, once it is made."""
        while len(ASKED) < number:
            await asyncio.sleep(0)
        return ASKED[number - 1]

    async def over(self) -> list[tuple[str, bool, bool | None]]:
        """The texts of the replies once nothing is under way, whether each was shown, and whether it kept the rule."""
        events = (await self.settle()).events
        texts = {event.seq: event.data.get("text", "") for event in events}
        return [(texts[one.of], one.shown, one.kept) for one in verdicts(events)]


@pytest.fixture
async def talks(tmp_path: Path) -> AsyncIterator[Callable[[dict[str, Any]], Talk]]:
    made: list[Talk] = []
    yield lambda rule: made.append(Talk(tmp_path, rule)) or made[-1]  # type: ignore[func-returns-value]
    for talk in made:
        await talk.close()


async def test_a_withheld_reply_reaches_no_listener_and_each_attempt_is_paid_and_kept(talks: Any) -> None:
    talk = await talks(ASKS).say()
    heard: list[str] = []

    async def listen() -> None:
        heard.extend([piece async for piece, _ in talk.service.follow(talk.live, 0)])

    listening = asyncio.create_task(listen())
    seen = talk.live.screen.seen
    for number, texts in enumerate((["No. ", "Never."], ["Still not."], ["Why", "?"]), 1):
        (await talk.asked(number)).finish(*texts)
    assert await talk.over() == [("No. Never.", False, False), ("Still not.", False, False), ("Why?", True, True)]
    await listening
    assert [text for text in heard if text] == []
    assert talk.live.screen.seen > seen
    assert [one.text for one in talk.live.screen.panel.chat.messages] == ["Hm", "Why?"]
    assert query(talk.database, "SELECT text FROM attempt ORDER BY started_us") == [
        ("No. Never.",), ("Still not.",), ("Why?",),
    ]  # fmt: skip
    await talk.act("withdraw")
    assert [event.kind for event in facts(talk.database, talk.live.stream)] == ["withdrew"]
    assert query(talk.database, "SELECT DISTINCT text FROM attempt") == [("",)]


async def test_a_kill_between_two_attempts_loses_none_and_gives_no_more(talks: Any) -> None:
    talk = await talks(ASKS | {"ask_again": 1}).say()
    (await talk.asked(1)).finish("No.")
    await talk.asked(2)
    await talk.kill()
    talk.start()
    talk.live = await talk.service.get(talk.live.stream)
    (await talk.asked(3)).finish("Never.")
    assert await talk.over() == [("No.", False, False), ("Never.", True, False)]


async def test_stop_while_nothing_is_shown_gives_the_message_back(talks: Any) -> None:
    talk = await talks(ASKS).say()
    (await talk.asked(1)).finish("No.")
    (await talk.asked(2)).release("Wh")
    await talk.act("stop")
    assert await talk.over() == [("No.", False, False)]
    assert [one.text for one in talk.live.screen.panel.chat.messages] == ["Hm"]
    await talk.say()
    (await talk.asked(3)).finish("Why?")
    assert (await talk.over())[-1] == ("Why?", True, True)


@pytest.mark.parametrize(("said", "kept"), [(NO, False), (YES, True), ("Hm", None), (None, None)])
async def test_a_judge_for_whom_nobody_waits_is_heard_after_the_reply(talks: Any, said: str | None, kept: Any) -> None:
    talk = await talks(JUDGE).say()
    (await talk.asked(1)).finish("Well.")
    judge = await talk.asked(2)
    talk.live = await talk.service.get(talk.live.stream)
    assert [one.text for one in talk.live.screen.panel.chat.messages] == ["Hm", "Well."]
    judge.finish(said) if said else judge.fail(BackendRejected("no", reason="status_400"))
    assert await talk.over() == [("Well.", True, kept)]
    (verdict,) = (event.data for event in facts(talk.database, talk.live.stream) if event.kind == "fidelity_checked")
    assert (verdict["judge"], verdict["model"]) == ("judge", "one")
    assert verdict.get("missing") == {NO: None, YES: None, "Hm": "unparsable", None: "status_400"}[said]


async def test_a_judge_over_its_budget_is_not_asked(talks: Any) -> None:
    # a call may cost 1,000 tokens at 1 per million, and takes 1
    talk = await talks(JUDGE | {"budget": 0.0010005}).say()
    (await talk.asked(1)).finish("Well.")
    (await talk.asked(2)).finish(YES)
    assert await talk.over() == [("Well.", True, True)]
    await talk.kill()
    talk.start()
    await talk.say()
    (await talk.asked(3)).finish("Hm.")
    assert (await talk.over())[-1] == ("Hm.", True, None)
    assert len(ASKED) == 3


async def test_a_judge_that_is_too_slow_is_recorded_and_gives_its_budget_back(talks: Any) -> None:
    # a call may cost 0.001: two at once do not fit
    talk = await talks(JUDGE | {"budget": 0.0015, "time_limit_s": 1}).say()
    (await talk.asked(1)).finish("Well.")
    await talk.asked(2)
    assert await talk.over() == [("Well.", True, None)]
    assert query(talk.database, "SELECT reason FROM attempt WHERE model = 'judge'") == [("stopped",)]
    await talk.say()
    (await talk.asked(3)).finish("Hm.")
    (await talk.asked(4)).finish(YES)
    assert (await talk.over())[-1] == ("Hm.", True, True)


async def test_a_verdict_that_a_kill_took_is_asked_for_by_the_next_process(talks: Any) -> None:
    talk = await talks(JUDGE | {"time_limit_s": 1}).say()
    (await talk.asked(1)).finish("Well.")
    await talk.asked(2)
    await talk.kill()
    talk.start()
    session = await talk.service.get(talk.live.stream)
    assert len(ASKED) == 2
    talk.service._judges.ensure_running(session, session.state.events[-1].at_us + 62_000_000, lost=True)
    (await talk.asked(3)).finish(YES)
    assert await talk.over() == [("Well.", True, True)]
