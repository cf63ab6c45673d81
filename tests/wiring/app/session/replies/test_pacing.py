"""A paced reply and what may happen to it: a reload, a kill, Stop, and a rule that forbids to show it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from experiments.events import Event
from tests.fakes.stepping_model import ASKED
from tests.wiring.app.session.test_replies_withheld import ASKS, Talk
from tests.wiring.reading import facts, query

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("stepped")]
TEXT = "Why is it so? Let us see what the first step would be, and then the second."
PACE = 60


async def first_words(talk: Talk) -> str:
    async for text, _ in talk.service.follow(talk.live, 0):
        if text:
            return text
    return ""


async def all_words(talk: Talk) -> list[str]:
    return [text async for text, _ in talk.service.follow(talk.live, 0) if text]


async def over(talk: Talk) -> list[Event]:
    await talk.over()
    return facts(talk.database, talk.live.stream)[2:]


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    made = Talk(tmp_path, pace=PACE, ends={"mark": "[END]"})
    yield made
    await made.close()


async def test_a_kill_in_the_middle_loses_no_word_and_the_model_is_not_asked_again(talk: Talk) -> None:
    await talk.say()
    (await talk.asked(1)).finish(TEXT, " [END] more")
    heard = await first_words(talk)
    assert len(heard) < len(TEXT)
    again = await first_words(talk)
    assert TEXT.startswith(again), "a reload"
    assert again.startswith(heard)
    while facts(talk.database, talk.live.stream)[-1].kind != "written":
        await asyncio.sleep(0)
    await talk.kill()
    talk.start()
    talk.live = await talk.service.get(talk.live.stream) or talk.live
    pieces = await all_words(talk)
    assert pieces[0].startswith(again), "what was shown stays shown"
    assert "".join(pieces) == TEXT
    (_, written, replied) = await over(talk)
    assert (written.kind, replied.kind, replied.data["text"]) == ("written", "replied", TEXT)
    assert (replied.data["ended_by"], talk.live.screen.actions) == ("mark", ("submit",))
    assert replied.data["model_last_us"] < replied.data["shown_last_us"] <= replied.at_us
    assert len(ASKED) == 1


async def test_words_that_a_rule_forbids_are_not_shown_and_the_others_at_the_pace(tmp_path: Path) -> None:
    talk = Talk(tmp_path, ASKS, pace=PACE, opens="Hello there.", scripted={2: "As the script has it."})
    try:
        talk.live = await talk.service.enrol(talk.study, origin="person", seed="1")
        assert "".join(await all_words(talk)) == "Hello there."
        await over(talk)
        await talk.say()
        (await talk.asked(1)).finish("No, never.")
        (await talk.asked(2)).finish(TEXT)
        pieces = await all_words(talk)
        assert "".join(pieces) == TEXT
        assert len(pieces) > 5
        await over(talk)
        await talk.say()
        events = await over(talk)
        shown = [event.data for event in events if event.kind in ("opened", "replied")]
        took_us = [one["shown_last_us"] - one["shown_first_us"] for one in shown]
        assert (min(took_us) >= 0, max(took_us) > 0) == (True, True), "a busy machine may show a short one at once"
        kinds = [event.kind for event in events]
        assert kinds == [
            *("opened", "said", "withheld", "fidelity_checked"),
            *("written", "replied", "fidelity_checked", "said", "replied"),
        ]
        assert talk.live.screen.panel.chat.messages[-1].text == "As the script has it."  # type: ignore[union-attr]
        assert len(ASKED) == 2
    finally:
        await talk.close()


async def test_a_reply_is_cut_at_the_length_of_the_step(tmp_path: Path) -> None:
    talk = Talk(tmp_path, max_reply_chars=20, max_reply_tokens=50)
    try:
        await talk.say()
        (await talk.asked(1)).release(TEXT)
        (_, replied) = await over(talk)
        assert (replied.data["text"], replied.data["finish_reason"]) == (TEXT[:20].strip(), "too_long")
        assert [one.ended for one in talk.live.screen.panel.chat.messages] == ["", "cut_off"]  # type: ignore[union-attr]
        ((request,),) = query(talk.database, "SELECT request FROM attempt")
        assert json.loads(request)["max_tokens"] == 50
    finally:
        await talk.close()
