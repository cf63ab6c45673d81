"""The participant API: what is sent twice, late, wrongly, by somebody else or as no number leaves no trace."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from app.web.server import APOLOGY, BROKEN
from experiments.errors import NOT_OFFERED
from experiments.session.engine import STALE
from experiments.steps.survey import SurveyStep
from experiments.study.location import Location
from experiments.study.screen import Panel
from storage.errors import StorageError
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.proofs import signed
from tests.fakes.researcher import text
from tests.fakes.served import Served, serving, settings_for
from tests.wiring.reading import facts, query

pytestmark = pytest.mark.anyio


# Without digits, as those that number a list are no text of the page.
WORD = re.compile(r"[^\W\d]+")


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
    "a later place": ("submit", {"path": "finish"}, STALE),
    "a message where there is no chat": ("say", {}, NOT_OFFERED),
    "a fact's name": ("submitted", {}, NOT_OFFERED),
    "a reply of one's own": ("reply", {}, NOT_OFFERED),
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
    too_long = {"path": bot.screen.path, "values": {**values, "age": "5" * 1_000, "comment": "x" * 60_000}}
    assert (await bot.send("POST", "/api/draft", too_long)).json() == {"saved": False}
    assert "x" * 60_000 in await drafted(), "a text that may still be shortened is kept"
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
    assert WORD.findall(told)[-4:] == WORD.findall(heard.text)[-4:]  # before them there may be a formula, drawn or not
    assert (await bot.listen()).after == {}


async def test_one_person_twice_at_once_is_one_session(served: Served) -> None:
    async with AsyncExitStack() as stack:
        bots = [await stack.enter_async_context(HttpBot(served.url, f"twice{n}")) for n in range(5)]
        count = query(served.database, "SELECT count(*) FROM session")[0][0]
        await asyncio.gather(*(bot.arrive("short", signed("short", "prolific", "at-once")) for bot in bots))
        assert len({bot.stream for bot in bots}) == 1
        assert query(served.database, "SELECT count(*) FROM session") == [(count + 1,)]
        assert [e.kind for e in facts(served.database, bots[0].stream)].count("enrolled") == 1


DEEP = 2_000
# As JSON's text, or what its readers take for JSON.
UNFIT = {
    "beyond 64 bits": str(2**64),
    "far below": str(-(2**70)),
    "endless digits": "9" * 4_000,
    "more digits than are read": "9" * 10_000,
    "no number": "NaN",
    "infinite": "Infinity",
    "less than any": "-Infinity",
    "huge exponent": "1e400",
    "within a list": "[[1e999]]",
    "within an object": '{"a": {"b": -1e999}}',
    "deep": "[" * DEEP + "]" * DEEP,
    "deep objects": '{"a":' * DEEP + "1" + "}" * DEEP,
}


def body(plain: dict[str, Any], number: str) -> bytes:
    """A request with a number in the place of the word NUMBER."""
    return json.dumps(plain).replace('"NUMBER"', number).encode()


HEADERS = {"content-type": "application/json"}


async def test_the_participants_api_refuses_them_and_keeps_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(settings_for(tmp_path), "demo") as served, HttpBot(served.url, "1") as bot:

        def kept() -> list[list[tuple[Any, ...]]]:
            return [query(served.database, f"SELECT * FROM {table}") for table in ("event", "draft")]

        await bot.arrive("demo")
        before = kept()
        act = bot.intend("submit", {"agreed": "NUMBER", "other": "NUMBER"}).body
        left = {"kind": "left", "path": "x", "ago_ms": "NUMBER"}
        back = {"kind": "came_back", "path": "x", "away_ms": "NUMBER"}
        wrong = (
            ("/api/act", act),
            ("/api/draft", {"path": act["path"], "values": act["values"]}),
            *(("/api/telemetry", {"key": "0" * 32, "records": [record]}) for record in (left, back)),
        )
        for name, number in UNFIT.items():
            for path, plain in wrong:
                response = await bot.client.post(path, content=body(plain, number), headers=HEADERS)
                assert response.status_code == 422, (name, path, response.text[:200])
                assert response.json()["note"]
            content = body({**act, "values": {}, "seen": "NUMBER"}, number)
            assert (await bot.client.post("/api/act", content=content, headers=HEADERS)).status_code in (200, 422)
            response = await bot.client.get("/api/reply", params={"offset": number[:1000]})
            assert response.status_code in (200, 422)
        assert kept() == before
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


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


FAULTS = pytest.mark.parametrize(
    ("error", "said", "told"),
    [
        (ZeroDivisionError("by none"), BROKEN, "ZeroDivisionError: by none"),
        (StorageError("the disk is full"), APOLOGY, "the disk is full"),
    ],
    ids=["a fault of the code", "a disk"],
)


@FAULTS
async def test_a_screen_that_fails_is_told_calmly_and_with_its_session(
    error: Exception,
    said: str,
    told: str,
    bot: HttpBot,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(self: SurveyStep, location: Location) -> Panel:
        raise error

    monkeypatch.setattr(SurveyStep, "panel", fail)
    with caplog.at_level(logging.ERROR):
        response = await bot.send("POST", "/api/act", bot.intend("submit", {"agreed": "on"}).body)
    assert response.status_code == 503
    note, _, reference = response.json()["note"].rpartition(" ")
    assert note == said
    ours = [one.getMessage() for one in caplog.records if one.name == "app.web.server"]
    assert ours == [f"POST /api/act, session {bot.stream}: {told} [{reference.strip('()')}]"]
    assert "Traceback" not in response.text
