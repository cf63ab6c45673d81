"""A click that a model answers, and its reply, in one answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import serving, settings_for
from tests.wiring.reading import facts

pytestmark = pytest.mark.anyio
Told = list[tuple[str, dict[str, Any]]]


def told_by(text: str) -> Told:
    """The events of an answer: their names and what they say."""
    events = [dict(line.split(": ", 1) for line in frame.split("\n")) for frame in text.split("\n\n")[:-1]]
    return [(event["event"], json.loads(event["data"])) for event in events]


async def sent(bot: HttpBot, values: dict[str, Any], view: str = "screen", **more: Any) -> Any:
    act = bot.intend("say" if "text" in values else "submit", values)
    return await bot.send("POST", "/api/act", {**act.body, "view": view, "follow": True, **more})


def is_of_events(response: Any) -> bool:
    return str(response.headers["content-type"]).startswith("text/event-stream")


@pytest.mark.parametrize("view", ["screen", "page"])
async def test_the_screen_comes_first_then_the_words_then_the_screen_after_them(tmp_path: Path, view: str) -> None:
    late = {"first_ms": 1000, "pace_ms": 1}  # later than the click's answer, however busy the machine
    study = studies.chat(tmp_path, options=late)
    async with serving(settings_for(tmp_path), study) as slow, HttpBot(slow.url, "heard") as bot:
        await bot.arrive("talk")
        await bot.until(path="with_ai")
        response = await sent(bot, {"text": "Hello"}, view)
        assert is_of_events(response)
        (first, screen), *words, (last, after) = told_by(response.text)
        assert (first, last, {name for name, _ in words}) == ("screen", "done", {"delta"})
        (replied,) = (event for event in facts(slow.database, bot.stream) if event.kind == "replied")
        assert "".join(piece["text"] for _, piece in words) == replied.data["text"]
        assert words[-1][1]["offset"] == len(replied.data["text"])
        if view == "screen":
            waits = [told["screen"]["panel"]["chat"]["waiting"] for told in (screen, after)]
            assert waits == [True, False]
        else:
            assert [screen["slots"], after["slots"]] == [[""], []]
            assert screen["updates"], "all of the page is new"
            assert set(after["updates"]) < set(screen["updates"]), "what the page shows is not painted again"


async def test_the_same_click_again_hears_the_same_reply(tmp_path: Path) -> None:
    study = studies.chat(tmp_path, options={"first_ms": 300})
    async with serving(settings_for(tmp_path), study) as slow, HttpBot(slow.url, "again") as bot:
        await bot.arrive("talk")
        await bot.until(path="with_ai")
        act = {**bot.intend("say", {"text": "Hello"}).body, "follow": True}
        async with bot.client.stream("POST", "/api/act", json=act) as broken:
            assert await anext(broken.aiter_lines()) == "event: screen"
        *_, (last, _) = told = told_by((await bot.send("POST", "/api/act", act)).text)
        assert last == "done"
        kinds = [event.kind for event in facts(slow.database, bot.stream)]
        assert (kinds.count("said"), kinds.count("replied")) == (1, 1)
        replied = next(event for event in facts(slow.database, bot.stream) if event.kind == "replied")
        assert "".join(piece["text"] for name, piece in told if name == "delta") == replied.data["text"]
