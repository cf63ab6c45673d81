"""The participant API: what is said twice, late, wrongly or by somebody else leaves no trace."""

import asyncio
import logging
import re
from contextlib import AsyncExitStack
from typing import Any

import pytest

from experiments.session.engine import NOT_OFFERED, STALE
from tests.fakes.http_bot import HttpBot
from tests.fakes.proofs import signed
from tests.fakes.researcher import text
from tests.fakes.served import Served
from tests.wiring.reading import facts, query

pytestmark = pytest.mark.anyio
WORD = re.compile(r"[^\W\d]+")
"""Without digits, as those that number a list are no text of the page."""


async def at(bot: HttpBot, path: str) -> HttpBot:
    await bot.until(path=path)
    return bot


async def unmoved(served: Served, bot: HttpBot, kind: str, values: Any, note: str, **forged: Any) -> dict[str, str]:
    """Do what is refused: a note, the screen as it is, and nothing written; the faults."""
    before, screen = facts(served.database, bot.stream), bot.screen
    answer = await bot.do(kind, values, **forged)
    assert (answer.status, answer.screen) == (200, screen)
    assert note in answer.note
    assert answer.note
    assert facts(served.database, bot.stream) == before
    return dict(answer.faults)


@pytest.mark.parametrize("path", ["consent", "with_ai"])
async def test_twenty_times_the_same_click_is_one_fact(served: Served, bot: HttpBot, path: str) -> None:
    await at(bot, path)
    before = facts(served.database, bot.stream)
    values = {"consent": {"agreed": "on"}, "with_ai": {"text": "Hello"}}[path]
    act = bot.intend("say" if path == "with_ai" else "submit", values)
    answers = await asyncio.gather(*(bot.send("POST", "/api/act", act.body) for _ in range(20)))
    own = [e for e in facts(served.database, bot.stream)[len(before) :] if e.by == "participant"]
    assert [event.key for event in own] == [act.key]
    told = {response.text for response in answers} if path != "with_ai" else {r.json()["note"] for r in answers}
    assert len(told) == 1
    assert all((response.status_code, response.json()["note"]) == (200, "") for response in answers)


async def test_two_different_clicks_at_once_are_one_step(served: Served, bot: HttpBot) -> None:
    acts = [bot.intend("submit", {"agreed": "on"}, key=f"different-{n}") for n in range(10)]
    answers = await asyncio.gather(*(bot.send("POST", "/api/act", act.body) for act in acts))
    assert sorted(response.json()["note"] == "" for response in answers) == [False] * 9 + [True]
    assert len([e for e in facts(served.database, bot.stream) if e.kind == "submitted"]) == 1


async def test_a_second_tab_is_told_and_goes_on(served: Served, bot: HttpBot) -> None:
    async with HttpBot(served.url, "tab2") as tab:
        tab.client.cookies = bot.client.cookies
        await tab.look()
        await bot.do("submit", {"agreed": "on"})
        late = await tab.do("submit", {"agreed": "on"})
        assert STALE in late.note
        assert late.screen == bot.screen
        assert len([e for e in facts(served.database, bot.stream) if e.path == "consent"]) == 1
        await tab.finish()
    assert (await bot.look()).ended


FORGED: dict[str, tuple[str, dict[str, Any], str]] = {
    "an earlier number": ("submit", {"seen": 0}, STALE),
    "a later number": ("submit", {"seen": 10_000}, STALE),
    "a later place": ("submit", {"path": "finish"}, STALE),
    "a place that is none": ("submit", {"path": "../consent"}, STALE),
    "no place": ("submit", {"path": ""}, STALE),
    "a message where there is no chat": ("say", {}, NOT_OFFERED),
    "a rating where there is none": ("rate", {}, NOT_OFFERED),
    "a retry of nothing": ("retry", {}, NOT_OFFERED),
    "a fact's name": ("submitted", {}, NOT_OFFERED),
    "a reply of one's own": ("reply", {}, NOT_OFFERED),
    "a failure of one's own": ("fail", {}, NOT_OFFERED),
    "an end of one's own": ("finish", {}, NOT_OFFERED),
    "a draw of one's own": ("draw", {}, NOT_OFFERED),
    "a condition of one's own": ("assign", {}, NOT_OFFERED),
    "another beginning": ("enrol", {}, "already started"),
    "a researcher's note": ("noted", {}, NOT_OFFERED),
}


async def test_forged_acts_are_refused(served: Served, bot: HttpBot) -> None:
    values = {"agreed": "on", "text": "x", "factors": {"condition": "x"}, "origin": "bot", "seed": "1"}
    for number, (kind, forged, note) in enumerate(FORGED.values()):
        await unmoved(served, bot, kind, values, note, key=f"forged-{number}", **forged)


async def test_what_is_done_out_of_turn_is_logged_without_a_word_of_it(
    served: Served, bot: HttpBot, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO", "app.web.participant.api")
    monkeypatch.setattr(logging.getLogger("app.web.participant.api"), "filters", [])  # a server's: a line a minute
    await unmoved(served, bot, "draw", {"text": "zqsecretqz"}, NOT_OFFERED)
    await unmoved(served, bot, "zqkindqz", {}, STALE, path="zqpathqz", key="another-one")
    await unmoved(served, bot, "submit", {}, "Some answers are missing", key="a-third-one")
    told = [record.getMessage() for record in caplog.records if record.name == "app.web.participant.api"]
    assert [(bot.stream in one, why in one) for one, why in zip(told, ("not_offered", "stale"), strict=True)] == [
        (True, True)
    ] * 2
    assert "zq" not in caplog.text


async def test_a_draft_comes_back_until_it_is_sent(served: Served, bot: HttpBot) -> None:
    async def drafted() -> str:
        return str((await bot.send("POST", "/api/look", {})).json()["updates"]["left"]["value"])

    await at(bot, "remarks")
    values = {"comment": "half a <thought>", "used": ["Paper"], "age": "4"}
    for path, kept in (("consent", False), ("nowhere", False), (bot.screen.path, True)):
        saved = await bot.send("POST", "/api/draft", {"path": path, "values": values})
        assert saved.json() == {"saved": kept}
    html = await drafted()
    assert "half a &lt;thought&gt;" in html
    assert 'value="Paper" checked' in html
    assert 'value="4"' in html
    too_long = {"path": bot.screen.path, "values": {**values, "age": "5", "comment": "x" * 20_000}}
    assert (await bot.send("POST", "/api/draft", too_long)).json() == {"saved": False}
    assert 'value="5"' in await drafted(), "what could be kept is"
    assert not any("half a" in str(e.data) for e in facts(served.database, bot.stream)), "a draft is no fact"
    await bot.do("submit", {"comment": "whole"})
    assert query(served.database, "SELECT count(*) FROM draft WHERE stream = :s", s=bot.stream) == [(0,)]


@pytest.mark.parametrize("view", ["page", "screen"])
async def test_the_end_of_a_reply_tells_the_screen_that_a_look_would(bot: HttpBot, view: str) -> None:
    await at(bot, "with_ai")
    shown = (await bot.send("POST", "/api/look", {})).json()["shown"]
    await bot.do("say", {"text": "Please explain."})
    heard = await bot.listen(view=view, shown=shown)
    look = (await bot.send("POST", "/api/look", {"view": view, "shown": shown})).json()
    assert heard.after == look
    told = text(look["updates"]["chat"]) if view == "page" else look["screen"]["panel"]["chat"]["messages"][-1]["text"]
    assert " ".join(WORD.findall(told)).endswith(" ".join(WORD.findall(heard.text)))
    assert (await bot.listen()).after == {}


async def test_one_person_twice_at_once_is_one_session(served: Served) -> None:
    async with AsyncExitStack() as stack:
        bots = [await stack.enter_async_context(HttpBot(served.url, f"twice{n}")) for n in range(5)]
        count = query(served.database, "SELECT count(*) FROM session")[0][0]
        await asyncio.gather(*(bot.arrive("short", signed("short", "prolific", "at-once")) for bot in bots))
        assert len({bot.stream for bot in bots}) == 1
        assert query(served.database, "SELECT count(*) FROM session") == [(count + 1,)]
        assert [e.kind for e in facts(served.database, bots[0].stream)].count("enrolled") == 1
