"""The participant API: what is said twice, late, wrongly or by somebody else leaves no trace."""

import asyncio
import json
import logging
import re
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from app.studies.loader import read_yaml
from experiments.session.engine import NOT_OFFERED, STALE
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


MISSING = "Please answer this question."
CHOOSE = "Please choose one of the options shown."
VALUES: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "consent without the tick": ("consent", {}, {"agreed": MISSING}),
    "consent unticked": ("consent", {"agreed": False}, {"agreed": "Please tick the box to continue."}),
    "consent by a list": ("consent", {"agreed": ["on"]}, {"agreed": "Please tick the box to continue."}),
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
        {"comment": "Please use at most 5,000 characters. You have entered 5,001."},
    ),
}


async def test_values_are_checked_again(served: Served, bot: HttpBot) -> None:
    for path in ("consent", "remarks", "confidence", "alone"):
        await at(bot, path)
        for number, (where, values, faults) in enumerate(VALUES.values()):
            if where == path:
                told = await unmoved(
                    served, bot, "submit", values, "Some answers are missing", key=f"wrong-one-{number}"
                )
                assert told == faults, values


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("x" * MESSAGE_CHARS, "x" * MESSAGE_CHARS), (" a<b>&amp;\x00\r\n$x$ \U0001f600 ", "a<b>&amp;\n$x$ \U0001f600"),
    ],
    ids=["as long as may be", "odd characters"],
)  # fmt: skip
async def test_messages_are_stored_whole_or_not_at_all(served: Served, bot: HttpBot, text: str, stored: str) -> None:
    await at(bot, "with_ai")
    wrong: list[dict[str, Any]] = [{"text": one} for one in ("", " \n\t ", 7, ["x"], "x" * (MESSAGE_CHARS + 1))]
    for number, values in enumerate([{}, *wrong]):
        assert set(await unmoved(served, bot, "say", values, "", key=f"no-message-{number}")) == {"text"}
    await bot.do("say", {"text": text})
    assert [e.data["text"] for e in facts(served.database, bot.stream) if e.kind == "said"] == [stored]
    assert bot.screen.panel.chat
    assert bot.screen.panel.chat.messages[0].text == stored


async def test_what_is_no_text_is_cleaned_from_a_message(served: Served, bot: HttpBot) -> None:
    """Sent as browsers do: an emoji that was cut in two is an escape."""
    await at(bot, "with_ai")
    body = bot.intend("say", {"text": "cut \ud83d\rin two\x0b\x1b[1m"}).body
    headers = {"content-type": "application/json"}
    response = await bot.send("POST", "/api/act", content=json.dumps(body).encode(), headers=headers)
    assert response.status_code == 200
    told = [e.data["text"] for e in facts(served.database, bot.stream) if e.kind == "said"]
    assert told == ["cut \ufffd\nin two\n[1m"]


@pytest.mark.parametrize("step", ["chat", "compare"])
async def test_a_study_sets_how_long_a_message_may_be(tmp_path: Path, step: str) -> None:
    """The longest limit, in a script of four bytes each; a draft may be twice as long."""
    most = 20_000
    raw = read_yaml(studies.chat(tmp_path))
    if step == "chat":
        raw["flow"][1] |= {"with": {"with_ai": {"max_chars": most}}}
    else:
        raw["models"]["other"] = raw["models"]["only"]
        raw["flow"][1] = {"step": step, "max_chars": most}
    file = studies.write(tmp_path, raw)
    async with serving(settings_for(tmp_path), file) as served, AsyncExitStack() as stack:
        bot = await stack.enter_async_context(HttpBot(served.url, "talker"))
        await bot.arrive("talk")
        await at(bot, "with_ai" if step == "chat" else step)
        chat = bot.screen.panel.chat
        assert chat
        assert chat.max_chars == most
        assert set(await unmoved(served, bot, "say", {"text": "\U0001f600" * (most + 1)}, "20,000")) == {"text"}
        draft = {"path": bot.screen.path, "values": {"text": "\U0001f600" * 2 * most}}
        assert (await bot.send("POST", "/api/draft", draft)).json() == {"saved": True}
        await bot.do("say", {"text": "\U0001f600" * most})
        assert [e.data["text"] for e in facts(served.database, bot.stream) if e.kind == "said"] == ["\U0001f600" * most]


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
