"""The participant API: what is said twice, late, wrongly or by somebody else leaves no trace."""

import asyncio
import re
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from experiments.steps.chat import MESSAGE_CHARS
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.proofs import signed
from tests.fakes.researcher import text
from tests.fakes.served import Served, serving, settings_for
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


@pytest.mark.parametrize("path", ["consent", "with_ai", "remarks"])
async def test_twenty_times_the_same_click_is_one_fact(served: Served, bot: HttpBot, path: str) -> None:
    await at(bot, path)
    before = facts(served.database, bot.stream)
    values = {"consent": {"agreed": "on"}, "with_ai": {"text": "Hello"}, "remarks": {"comment": "Good"}}[path]
    act = bot.intend("say" if path == "with_ai" else "submit", values)
    answers = await asyncio.gather(*(bot.send("POST", "/api/act", act.body) for _ in range(20)))
    own = [e for e in facts(served.database, bot.stream)[len(before) :] if e.by == "participant"]
    assert [event.key for event in own] == [act.key]
    told = {response.text for response in answers} if path != "with_ai" else {r.json()["note"] for r in answers}
    assert len(told) == 1
    assert all((response.status_code, response.json()["note"]) == (200, "") for response in answers)


async def test_twenty_times_the_same_message_are_twenty_equal_answers(tmp_path: Path) -> None:
    """While its reply is waited for, so that nothing else changes the screen."""
    study = studies.chat(tmp_path, options={"first_ms": 60_000})
    async with serving(settings_for(tmp_path), study) as slow, HttpBot(slow.url, "twenty") as bot:
        await bot.arrive("talk")
        act = (await at(bot, "with_ai")).intend("say", {"text": "Hello"})
        answers = await asyncio.gather(*(bot.send("POST", "/api/act", act.body) for _ in range(20)))
        assert {(answer.status_code, answer.json()["note"]) for answer in answers} == {(200, "")}
        assert len({answer.text for answer in answers}) == 1
        assert [event.kind for event in facts(slow.database, bot.stream)].count("said") == 1


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
        assert "already answered" in late.note
        assert late.screen == bot.screen
        assert len([e for e in facts(served.database, bot.stream) if e.path == "consent"]) == 1
        await tab.finish()
    assert (await bot.look()).ended


FORGED: dict[str, tuple[str, dict[str, Any], str]] = {
    "an earlier number": ("submit", {"seen": 0}, "already answered"),
    "a later number": ("submit", {"seen": 10_000}, "already answered"),
    "a later place": ("submit", {"path": "finish"}, "already answered"),
    "a place that is none": ("submit", {"path": "../consent"}, "already answered"),
    "no place": ("submit", {"path": ""}, "already answered"),
    "a message where there is no chat": ("say", {}, "not possible"),
    "a rating where there is none": ("rate", {}, "not possible"),
    "a retry of nothing": ("retry", {}, "not possible"),
    "a fact's name": ("submitted", {}, "not possible"),
    "a reply of one's own": ("reply", {}, "not possible"),
    "a failure of one's own": ("fail", {}, "not possible"),
    "an end of one's own": ("finish", {}, "not possible"),
    "a draw of one's own": ("draw", {}, "not possible"),
    "a condition of one's own": ("assign", {}, "not possible"),
    "another beginning": ("enrol", {}, "already begun"),
    "a researcher's note": ("noted", {}, "not possible"),
}


@pytest.mark.parametrize("name", FORGED)
async def test_forged_acts_are_refused(served: Served, bot: HttpBot, name: str) -> None:
    kind, forged, note = FORGED[name]
    values = {"agreed": "on", "text": "x", "factors": {"condition": "x"}, "origin": "bot", "seed": "1"}
    await unmoved(served, bot, kind, values, note, **forged)


@pytest.mark.parametrize("name", ["a later place", "a draw of one's own"])
async def test_what_is_done_out_of_turn_is_logged_without_a_word_of_it(
    served: Served, bot: HttpBot, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level("INFO", "app.web.api")
    kind, forged, note = FORGED[name]
    await unmoved(served, bot, kind, {"text": "zqsecretqz"}, note, **forged)
    await unmoved(served, bot, "zqkindqz", {}, "already answered", path="zqpathqz", key="another-one")
    await unmoved(served, bot, "submit", {}, "Some answers are missing", key="a-third-one")
    why = "stale" if "place" in name else "not_offered"
    told = [record.getMessage() for record in caplog.records if record.name == "app.web.api"]
    assert told == [f"session {bot.stream}: an action was refused ({why}) at consent" for why in (why, "stale")]
    assert "zq" not in caplog.text


MISSING = "Please answer this question."
CHOOSE = "Please choose one of the options shown."
VALUES: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "consent without the tick": ("consent", {}, {"agreed": MISSING}),
    "consent unticked": ("consent", {"agreed": False}, {"agreed": "Please tick the box to go on."}),
    "consent by a list": ("consent", {"agreed": ["on"]}, {"agreed": "Please tick the box to go on."}),
    "an unknown option": ("confidence", {"confidence": "sure"}, {"confidence": CHOOSE}),
    "an option's words": ("confidence", {"confidence": "Very confident"}, {"confidence": CHOOSE}),
    "two options": ("confidence", {"confidence": ["very-confident", "not-confident"]}, {"confidence": CHOOSE}),
    "a letter that is not offered": ("alone", {"answer": "E"}, {"answer": CHOOSE}),
    "an object": ("alone", {"answer": {"$ne": ""}}, {"answer": CHOOSE}),
    "true": ("alone", {"answer": True}, {"answer": CHOOSE}),
    "nothing required": ("remarks", {"comment": "  "}, {"comment": MISSING}),
    "a number in place of text": ("remarks", {"comment": 3}, {"comment": "Please enter text."}),
    "too young": ("remarks", {"comment": "x", "age": "17"}, {"age": "Please enter a number from 18 to 99."}),
    "no number": ("remarks", {"comment": "x", "age": "abc"}, {"age": "Please enter a whole number."}),
    "one unknown of several": ("remarks", {"comment": "x", "used": ["Pen", "Knife"]}, {"used": CHOOSE}),
    "5,001 characters": (
        "remarks",
        {"comment": "x" * 5_001},
        {"comment": "Please use at most 5,000 characters; there are 5,001."},
    ),
}


@pytest.mark.parametrize("name", VALUES)
async def test_values_are_checked_again(served: Served, bot: HttpBot, name: str) -> None:
    path, values, faults = VALUES[name]
    await at(bot, path)
    assert await unmoved(served, bot, "submit", values, "Some answers are missing", key="a-wrong-one") == faults


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("", None), (" \n\t ", None), (None, None), (7, None), (["x"], None), ("x" * (MESSAGE_CHARS + 1), None),
        ("x" * MESSAGE_CHARS, "x" * MESSAGE_CHARS), (" a<b>&amp;\x00\r\n$x$ \U0001f600 ", "a<b>&amp;\n$x$ \U0001f600"),
    ],
    ids=["empty", "blank", "missing", "a number", "a list", "4001 characters", "4000 characters", "odd characters"],
)  # fmt: skip
async def test_messages_are_stored_whole_or_not_at_all(
    served: Served, bot: HttpBot, text: Any, stored: str | None
) -> None:
    await at(bot, "with_ai")
    values = {} if text is None else {"text": text}
    if stored is None:
        assert set(await unmoved(served, bot, "say", values, "")) == {"text"}
        return
    await bot.do("say", values)
    assert [e.data["text"] for e in facts(served.database, bot.stream) if e.kind == "said"] == [stored]
    assert bot.screen.panel.chat
    assert bot.screen.panel.chat.messages[0].text == stored


async def test_the_chat_cannot_be_left_or_hurried(served: Served, bot: HttpBot) -> None:
    await at(bot, "with_ai")
    await unmoved(served, bot, "submit", {"answer": "A"}, "not possible")
    await bot.do("say", {"text": "Please explain."})
    await unmoved(served, bot, "say", {"text": "Quick"}, "") if bot.screen.panel.chat.waiting else None


async def test_nothing_can_be_done_at_the_end(served: Served, bot: HttpBot) -> None:
    await bot.finish()
    for kind in ("submit", "say", "rate", "retry"):
        await unmoved(served, bot, kind, {"text": "x"}, "already finished")
    assert [e.kind for e in facts(served.database, bot.stream)].count("finished") == 1


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
    assert not any("half a" in str(e.data) for e in facts(served.database, bot.stream)), "a draft is no fact"
    await bot.do("submit", {"comment": "whole"})
    assert query(served.database, "SELECT count(*) FROM draft WHERE stream = :s", s=bot.stream) == [(0,)]


async def test_a_drafted_message_is_dropped_when_it_is_sent(served: Served, bot: HttpBot) -> None:
    await at(bot, "with_ai")
    await bot.send("POST", "/api/draft", {"path": bot.screen.path, "values": {"text": "I was just"}})
    painting = (await bot.send("POST", "/api/look", {})).json()
    assert painting["updates"]["box"]["value"] == "I was just"
    await bot.do("say", {"text": "I was just asking"})
    painting = (await bot.send("POST", "/api/look", {})).json()
    assert painting["updates"]["box"]["value"] == ""
    assert "I was" not in repr(query(served.database, "SELECT data FROM draft WHERE stream = :s", s=bot.stream))


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
        bots = [await stack.enter_async_context(HttpBot(served.url, f"twice{n}")) for n in range(10)]
        count = query(served.database, "SELECT count(*) FROM session")[0][0]
        await asyncio.gather(*(bot.arrive("short", signed("short", "prolific", "at-once")) for bot in bots))
        assert len({bot.stream for bot in bots}) == 1
        assert query(served.database, "SELECT count(*) FROM session") == [(count + 1,)]
        assert [e.kind for e in facts(served.database, bots[0].stream)].count("enrolled") == 1


async def test_the_own_link_leads_back_in_the_same_browser(served: Served, bot: HttpBot) -> None:
    await at(bot, "alone")
    stream, screen = bot.stream, bot.screen
    await bot.arrive("short")
    assert (bot.stream, bot.screen) == (stream, screen)
